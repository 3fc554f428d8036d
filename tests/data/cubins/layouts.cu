// Compiled by NVRTC to layouts.<arch>.<CUDA version>.cubin: one file of each ELF ABI, old and new.
struct Narrow { float *base; float *data; int offset; int sizes[5]; int strides[5]; };
struct Wide { float *base; float *data; long long offset; long long sizes[5]; long long strides[5]; };

#define TENSOR(p) float *p##0, float *p##1, int p##2, int p##3, int p##4, int p##5, int p##6, int p##7, int p##8, int p##9, int p##10, int p##11, int p##12

extern "C" __global__ void smoke_bare(const float *a, const float *b, float *c) { c[0] = a[0] * b[0]; }
extern "C" __global__ void smoke_narrow(Narrow a, Narrow b, Narrow c) { c.data[c.offset] = a.data[0] * b.data[0]; }
extern "C" __global__ void smoke_wide(Wide a, Wide b, Wide c, Wide d) { d.data[0] = a.data[0] * b.data[0] + c.data[0]; }
extern "C" __global__ void smoke_expanded(TENSOR(a), TENSOR(b), TENSOR(c)) { c1[c2] = a1[a2] * b1[b2]; }
extern "C" __global__ void mixed(char a, const float *b, short c, long long d, float *e) { e[a + c + d] = b[0]; }
extern "C" __global__ void empty() {}
