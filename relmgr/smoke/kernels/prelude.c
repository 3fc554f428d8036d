/* The part of the smoke kernels' source that stands once at its head: who compiles it, and 16-bit floats.
 *
 * No includes and no types of a runtime, so that NVRTC, hiprtc, clang and a host's C compiler take the same text.
 * 16-bit floats are converted by their bits: every compiler then computes the same, and none needs its own header. */
#if defined(__CUDACC__) || defined(__HIP__) || defined(__HIPCC_RTC__)
#define SMOKE_ON_DEVICE 1
#define SMOKE_FUNCTION static __device__ inline
#else
#define SMOKE_ON_DEVICE 0
#define SMOKE_FUNCTION static inline
#endif

/* clang without its HIP headers: the few words that the kernels use. */
#ifdef SMOKE_WITHOUT_RUNTIME
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define SMOKE_THREAD ((long long)__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())
#else
#define SMOKE_THREAD ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#endif

#define SMOKE_JOIN_(a, b) a##_##b
#define SMOKE_JOIN(a, b) SMOKE_JOIN_(a, b)

/* What a descriptor tells of a tensor; for a kernel with compiled-in sizes, what the compiler was told. */
struct smoke_view {
  long long offset, size[5], stride[5];
};

SMOKE_FUNCTION float smoke_as_float(unsigned bits) {
  union { unsigned u; float f; } both;
  both.u = bits;
  return both.f;
}

SMOKE_FUNCTION unsigned smoke_as_bits(float value) {
  union { unsigned u; float f; } both;
  both.f = value;
  return both.u;
}

SMOKE_FUNCTION float smoke_from_f16(unsigned short half) {
  unsigned sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 0x3ffu;
  if (exponent == 0) return smoke_as_float(smoke_as_bits(fraction * (1.0f / 16777216.0f)) | sign);
  if (exponent == 31) return smoke_as_float(sign | 0x7f800000u | (fraction << 13));
  return smoke_as_float(sign | ((exponent + 112u) << 23) | (fraction << 13));
}

SMOKE_FUNCTION unsigned short smoke_to_f16(float value) {
  unsigned bits = smoke_as_bits(value), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
  if (size < 0x38800000u) {
    float scaled = smoke_as_float(size) * 16777216.0f;
    unsigned whole = (unsigned)scaled;
    float rest = scaled - (float)whole;
    if (rest > 0.5f || (rest == 0.5f && (whole & 1u))) ++whole;
    return (unsigned short)(sign | whole);
  }
  size += 0xfffu + ((size >> 13) & 1u);
  return (unsigned short)(sign | ((size - 0x38000000u) >> 13));
}

SMOKE_FUNCTION float smoke_from_bf16(unsigned short half) { return smoke_as_float((unsigned)half << 16); }

SMOKE_FUNCTION unsigned short smoke_to_bf16(float value) {
  unsigned bits = smoke_as_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
