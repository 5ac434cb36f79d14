// Without the C++ overloads of the real one, which would make a function's name ambiguous.
#pragma once
#include <cuda_runtime_api.h>
