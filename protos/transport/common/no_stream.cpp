// What libnghttp2's archive takes for the stream of its errors (nghttp2.cmake). Used by nothing that is ever
// called.
extern "C" __attribute__((visibility("hidden"))) void* jitc_no_stream;
void* jitc_no_stream = nullptr;
