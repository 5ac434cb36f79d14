"""The kernels of the check that need no PyTorch, in PTX: the driver translates them for the GPU that is there.

Called by: preflight, programs. Their names and parameters are those of the tests' stand-in for the driver, which cannot
translate them and knows them by name (tests/fakes/cuda/kernels.cpp).
"""

from __future__ import annotations

_HEAD = """
.version 7.0
.target sm_52
.address_size 64
"""

#: Does nothing.
EMPTY = (
    _HEAD
    + """
.visible .entry empty()
{
  ret;
}
"""
)

#: Does not end. The clock is read so that no compiler can leave the loop out.
ENDLESS = (
    _HEAD
    + """
.visible .entry jitc_endless_kernel()
{
  .reg .pred %more;
  .reg .b64 %now;
again:
  mov.u64 %now, %clock64;
  setp.ne.u64 %more, %now, 0;
  @%more bra again;
  ret;
}
"""
)

#: A device variable.
VARIABLE = _HEAD + ".visible .global .align 8 .u64 counter;\n" + EMPTY.removeprefix(_HEAD)

_INDEX = """
  .reg .pred %over;
  .reg .b32 %block, %size, %thread, %index;
  .reg .b64 %at, %count, %offset, %to;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.u32 %index, %block, %size, %thread;
  cvt.u64.u32 %at, %index;
  ld.param.u64 %count, [n];
  setp.ge.u64 %over, %at, %count;
  @%over bra end;
  shl.b64 %offset, %at, 2;
  ld.param.u64 %to, [y];
  cvta.to.global.u64 %to, %to;
  add.u64 %to, %to, %offset;
"""

#: fill_f32(float* y, float v, u64 n) and axpy_f32(float* y, const float* x, float a, u64 n): y += a * x.
ARITHMETIC = (
    _HEAD
    + """
.visible .entry fill_f32(.param .u64 y, .param .f32 v, .param .u64 n)
{
  .reg .f32 %value;
"""
    + _INDEX
    + """
  ld.param.f32 %value, [v];
  st.global.f32 [%to], %value;
end:
  ret;
}

.visible .entry axpy_f32(.param .u64 y, .param .u64 x, .param .f32 a, .param .u64 n)
{
  .reg .f32 %sum, %term, %factor;
  .reg .b64 %from;
"""
    + _INDEX
    + """
  ld.param.u64 %from, [x];
  cvta.to.global.u64 %from, %from;
  add.u64 %from, %from, %offset;
  ld.param.f32 %factor, [a];
  ld.global.f32 %term, [%from];
  ld.global.f32 %sum, [%to];
  fma.rn.f32 %sum, %factor, %term, %sum;
  st.global.f32 [%to], %sum;
end:
  ret;
}
"""
)
