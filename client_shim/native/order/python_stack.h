// The Python stack of the calling thread, as lines for a report.
//
// The functions of the interpreter are found in the process, so that one build serves every Python. Promises:
// each place has one text, whose address never changes; without an interpreter, or while it ends, there are
// no lines. It takes the GIL: the caller must hold no lock that a thread with the GIL may wait for, as with
// PyTorch's own recording of stacks for memory snapshots. Called by: sites.cpp.
#pragma once
#include <string>

namespace jitc::torch_device {

class PythonStack {
 public:
  /// Takes PyTorch's folder, and `libraries`: where it and other packages are installed.
  PythonStack(std::string torch, std::string libraries);
  PythonStack(const PythonStack&) = delete;
  PythonStack& operator=(const PythonStack&) = delete;
  bool usable() const { return usable_; }

  /// Returns the innermost line outside of PyTorch, that of the program itself if it is another one, and the
  /// innermost ones inside PyTorch; the outermost first. In the autograd engine also the line that began the
  /// backward pass of that number (-1: none). The text ends with a line feed; it belongs to this object.
  const std::string& lines(int backward);
  /// Returns the replacement for lines, if there have been too many.
  static const std::string& unknown();

 private:
  struct Code;
  struct Walk;
  const Code* code_of(void* frame);
  void walk(void* top, Walk& walk);
  const std::string& text_of(const Walk& walk, const std::string& begun_by);
  std::string begun_by();

  const std::string torch_, libraries_;
  bool usable_ = false;
};

}  // namespace jitc::torch_device
