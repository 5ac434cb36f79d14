// Device variables: where they lie on a device, once that was asked.
//
// Used by symbol_copy.cpp, module.cpp and library.cpp (look-ups), memory.cpp and pointer.cpp (whose address
// is this?) and client_api.cpp (variables are state). Promises: the device is asked once per variable, and
// once more when the program asks where it lies; until then ops name it by an alias, so that it may lie
// elsewhere after a recovery; its ordinal follows from its name and the content of its module, so it is the
// same on every rank.
#pragma once
#include <string>

#include "api/address/address_space.h"
#include "jitc/generated_ops.h"
#include "module_image.h"

namespace jitc::api {

/// What the program is after: the bytes in it or their number, or its address, which must stay as it is from
/// then on.
enum class Wanted { content, address };
/// The variable of the image on the device, at the address by which ops name it or where it was told to lie;
/// false with the reason.
bool find_variable(ModuleImage& image, const std::string& name, Session& session, int device, Wanted wanted,
                   Block* out, Status* why);
/// The same, by device; address and bytes may be null: without the first it is not wanted.
Status get_variable(ModuleImage& image, const char* name, int device, uint64_t* address, size_t* bytes);
/// For an image that is unloaded: forgets its variables.
void forget_variables(const ModuleImage& image);

/// The variable that holds all of [address, address + bytes), and its session; nullptr: none does.
Session* variable_range(uint64_t address, uint64_t bytes, Block* out);
/// Adds the known variables of the session to its live blocks.
void add_variables(const Session& session, std::vector<ops::LiveBlock>* live);

}  // namespace jitc::api
