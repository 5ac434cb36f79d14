// Device variables: their place on a device, once requested.
//
// Used by symbol_copy.cpp, module.cpp and library.cpp (look-ups), memory.cpp and pointer.cpp (owner of an
// address) and client_api.cpp (variables are state). Promises: the device is asked once per variable, and
// once more when the program requests its address; until then ops name it by an alias, so that it may lie
// elsewhere after a recovery; its ordinal follows from its name and the content of its module, so it is the
// same on every rank.
#pragma once
#include <string>

#include "api/address/address_space.h"
#include "jitc/generated_ops.h"
#include "module_image.h"

namespace jitc::api {

/// Purpose of a look-up: the bytes in the variable or their number, or its address, which must stay the same
/// from then on.
enum class Wanted { content, address };
/// Finds the variable of the image on the device, at the address by which ops name it or that the program
/// knows; false with the reason.
bool find_variable(ModuleImage& image, const std::string& name, Session& session, int device, Wanted wanted,
                   Block* out, Status* why);
/// Does the same by device; address and bytes may be null: without address it is not requested.
Status get_variable(ModuleImage& image, const char* name, int device, uint64_t* address, size_t* bytes);
/// Forgets the variables of an image that is unloaded.
void forget_variables(const ModuleImage& image);

/// Returns the session of the variable that holds all of [address, address + bytes); nullptr: none does.
Session* variable_range(uint64_t address, uint64_t bytes, Block* out);
/// Adds the known variables of the session to its live blocks.
void add_variables(const Session& session, std::vector<ops::LiveBlock>* live);

}  // namespace jitc::api
