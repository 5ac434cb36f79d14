// No checked signature uses these types.
#pragma once
