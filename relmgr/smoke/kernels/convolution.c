/* One grouped 2-D convolution kernel, one thread for each element it writes. The text is repeated for every kernel,
 * after a block of #defines that say what it is:
 *
 *   SMOKE_NAME         the kernel's name
 *   SMOKE_FORM         0 bare pointers; memref descriptors: 1 each field an argument, 2 one struct a tensor
 *   SMOKE_INDEX        type of a descriptor's offset, sizes and strides
 *   SMOKE_DYNAMIC      1 sizes, strides and offset are read from the descriptors; 0 they are compiled in
 *   SMOKE_TENSORS      3 filter, input, output; 4 a float workspace after them
 *   SMOKE_DIRECTION    0 forward (writes output), 1 backward data (writes input), 2 backward weights (writes filter)
 *   SMOKE_DTYPE        0 f32, 1 f16, 2 bf16, 3 i8 with i32 results
 *   SMOKE_NHWC         0 filter GKCYX, input NGCHW, output NGKHW; 1 filter GKYXC, input NHWGC, output NHWGK
 *   SMOKE_N G C K H W Y X HO WO, SMOKE_SH SW (stride), PH PW (padding), DH DW (dilation)
 *
 * Every macro of this file is undefined after it, by the writer of the text (source.py).
 * On a device it is a kernel SMOKE_NAME(arguments). On a host it is a function that reads the same arguments from a
 * packed buffer, laid out by the C compiler as a device lays out a kernarg segment, and a table tells their places. */
#if SMOKE_DTYPE == 0
#define SMOKE_READ_T float
#define SMOKE_WRITE_T float
#define SMOKE_SUM_T float
#define SMOKE_LOAD(v) (v)
#define SMOKE_STORE(v) (v)
#elif SMOKE_DTYPE == 1
#define SMOKE_READ_T unsigned short
#define SMOKE_WRITE_T unsigned short
#define SMOKE_SUM_T float
#define SMOKE_LOAD(v) smoke_from_f16(v)
#define SMOKE_STORE(v) smoke_to_f16(v)
#elif SMOKE_DTYPE == 2
#define SMOKE_READ_T unsigned short
#define SMOKE_WRITE_T unsigned short
#define SMOKE_SUM_T float
#define SMOKE_LOAD(v) smoke_from_bf16(v)
#define SMOKE_STORE(v) smoke_to_bf16(v)
#else
#define SMOKE_READ_T signed char
#define SMOKE_WRITE_T int
#define SMOKE_SUM_T int
#define SMOKE_LOAD(v) ((int)(v))
#define SMOKE_STORE(v) (v)
#endif

#define SMOKE_OUT_T SMOKE_READ_T
#define SMOKE_INP_T SMOKE_READ_T
#define SMOKE_FIL_T SMOKE_READ_T
#if SMOKE_DIRECTION == 0
#undef SMOKE_OUT_T
#define SMOKE_OUT_T SMOKE_WRITE_T
#elif SMOKE_DIRECTION == 1
#undef SMOKE_INP_T
#define SMOKE_INP_T SMOKE_WRITE_T
#else
#undef SMOKE_FIL_T
#define SMOKE_FIL_T SMOKE_WRITE_T
#endif

/* The arguments, written once: F is the first, P each further pointer, V each value, S each struct. */
#if SMOKE_FORM == 2
struct SMOKE_JOIN(SMOKE_NAME, fil) { SMOKE_FIL_T *base, *data; SMOKE_INDEX offset, size[5], stride[5]; };
struct SMOKE_JOIN(SMOKE_NAME, inp) { SMOKE_INP_T *base, *data; SMOKE_INDEX offset, size[5], stride[5]; };
struct SMOKE_JOIN(SMOKE_NAME, out) { SMOKE_OUT_T *base, *data; SMOKE_INDEX offset, size[5], stride[5]; };
struct SMOKE_JOIN(SMOKE_NAME, wsp) { float *base, *data; SMOKE_INDEX offset, size[5], stride[5]; };
#define SMOKE_FIRST(F, P, V, S) S(struct SMOKE_JOIN(SMOKE_NAME, fil), fil)
#define SMOKE_REST(F, P, V, S) S(struct SMOKE_JOIN(SMOKE_NAME, inp), inp) S(struct SMOKE_JOIN(SMOKE_NAME, out), out)
#define SMOKE_LAST(F, P, V, S) S(struct SMOKE_JOIN(SMOKE_NAME, wsp), wsp)
#define SMOKE_POINTER(t) t.data
#elif SMOKE_FORM == 1
#define SMOKE_INDEXES(V, t)                                                                                  \
  V(SMOKE_INDEX, t##_offset) V(SMOKE_INDEX, t##_size0) V(SMOKE_INDEX, t##_size1) V(SMOKE_INDEX, t##_size2)   \
  V(SMOKE_INDEX, t##_size3) V(SMOKE_INDEX, t##_size4) V(SMOKE_INDEX, t##_stride0) V(SMOKE_INDEX, t##_stride1) \
  V(SMOKE_INDEX, t##_stride2) V(SMOKE_INDEX, t##_stride3) V(SMOKE_INDEX, t##_stride4)
#define SMOKE_FIRST(F, P, V, S) F(SMOKE_FIL_T *, fil_base)
#define SMOKE_REST(F, P, V, S)                                                                               \
  P(SMOKE_FIL_T *, fil_data) SMOKE_INDEXES(V, fil)                                                           \
  P(SMOKE_INP_T *, inp_base) P(SMOKE_INP_T *, inp_data) SMOKE_INDEXES(V, inp)                                \
  P(SMOKE_OUT_T *, out_base) P(SMOKE_OUT_T *, out_data) SMOKE_INDEXES(V, out)
#define SMOKE_LAST(F, P, V, S) P(float *, wsp_base) P(float *, wsp_data) SMOKE_INDEXES(V, wsp)
#define SMOKE_POINTER(t) t##_data
#else
#define SMOKE_FIRST(F, P, V, S) F(SMOKE_FIL_T *, fil)
#define SMOKE_REST(F, P, V, S) P(SMOKE_INP_T *, inp) P(SMOKE_OUT_T *, out)
#define SMOKE_LAST(F, P, V, S) P(float *, wsp)
#define SMOKE_POINTER(t) t
#endif

/* Where a logical dimension stands among a tensor's five. */
#if SMOKE_NHWC
#define SMOKE_AT_FIL(g, k, c, y, x) ((g) * fv.stride[0] + (k) * fv.stride[1] + (y) * fv.stride[2] + (x) * fv.stride[3] + (c) * fv.stride[4])
#define SMOKE_AT_INP(n, g, c, h, w) ((n) * iv.stride[0] + (h) * iv.stride[1] + (w) * iv.stride[2] + (g) * iv.stride[3] + (c) * iv.stride[4])
#define SMOKE_AT_OUT(n, g, k, h, w) ((n) * ov.stride[0] + (h) * ov.stride[1] + (w) * ov.stride[2] + (g) * ov.stride[3] + (k) * ov.stride[4])
#define SMOKE_FIL_SIZES SMOKE_G, SMOKE_K, SMOKE_Y, SMOKE_X, SMOKE_C
#define SMOKE_INP_SIZES SMOKE_N, SMOKE_H, SMOKE_W, SMOKE_G, SMOKE_C
#define SMOKE_OUT_SIZES SMOKE_N, SMOKE_HO, SMOKE_WO, SMOKE_G, SMOKE_K
#else
#define SMOKE_AT_FIL(g, k, c, y, x) ((g) * fv.stride[0] + (k) * fv.stride[1] + (c) * fv.stride[2] + (y) * fv.stride[3] + (x) * fv.stride[4])
#define SMOKE_AT_INP(n, g, c, h, w) ((n) * iv.stride[0] + (g) * iv.stride[1] + (c) * iv.stride[2] + (h) * iv.stride[3] + (w) * iv.stride[4])
#define SMOKE_AT_OUT(n, g, k, h, w) ((n) * ov.stride[0] + (g) * ov.stride[1] + (k) * ov.stride[2] + (h) * ov.stride[3] + (w) * ov.stride[4])
#define SMOKE_FIL_SIZES SMOKE_G, SMOKE_K, SMOKE_C, SMOKE_Y, SMOKE_X
#define SMOKE_INP_SIZES SMOKE_N, SMOKE_G, SMOKE_C, SMOKE_H, SMOKE_W
#define SMOKE_OUT_SIZES SMOKE_N, SMOKE_G, SMOKE_K, SMOKE_HO, SMOKE_WO
#endif

SMOKE_FUNCTION struct smoke_view SMOKE_JOIN(SMOKE_NAME, packed)(long long a, long long b, long long c, long long d, long long e) {
  struct smoke_view view = {0, {a, b, c, d, e}, {b * c * d * e, c * d * e, d * e, e, 1}};
  return view;
}

/* Compute and write element `t`, counted over the logical dimensions of the tensor that is written. */
SMOKE_FUNCTION void SMOKE_JOIN(SMOKE_NAME, element)(
    SMOKE_FIL_T *fil, SMOKE_INP_T *inp, SMOKE_OUT_T *out, volatile float *wsp,
    struct smoke_view fv, struct smoke_view iv, struct smoke_view ov, long long t) {
#if SMOKE_NHWC
  const long long N = iv.size[0], H = iv.size[1], W = iv.size[2], G = iv.size[3], C = iv.size[4];
  const long long K = fv.size[1], Y = fv.size[2], X = fv.size[3], HO = ov.size[1], WO = ov.size[2];
#else
  const long long N = iv.size[0], G = iv.size[1], C = iv.size[2], H = iv.size[3], W = iv.size[4];
  const long long K = fv.size[1], Y = fv.size[3], X = fv.size[4], HO = ov.size[3], WO = ov.size[4];
#endif
  SMOKE_SUM_T sum = 0;
  fil += fv.offset;
  inp += iv.offset;
  out += ov.offset;
#if SMOKE_DIRECTION == 0
  if (t >= N * G * K * HO * WO) return;
  const long long wo = t % WO, ho = t / WO % HO, k = t / (WO * HO) % K, g = t / (WO * HO * K) % G, n = t / (WO * HO * K * G);
  for (long long c = 0; c < C; ++c)
    for (long long y = 0; y < Y; ++y)
      for (long long x = 0; x < X; ++x) {
        const long long h = ho * SMOKE_SH - SMOKE_PH + y * SMOKE_DH, w = wo * SMOKE_SW - SMOKE_PW + x * SMOKE_DW;
        if (h < 0 || h >= H || w < 0 || w >= W) continue;
        sum += SMOKE_LOAD(fil[SMOKE_AT_FIL(g, k, c, y, x)]) * SMOKE_LOAD(inp[SMOKE_AT_INP(n, g, c, h, w)]);
      }
  const long long at = SMOKE_AT_OUT(n, g, k, ho, wo);
  SMOKE_WRITE_T *const to = out;
#elif SMOKE_DIRECTION == 1
  if (t >= N * G * C * H * W) return;
  const long long w = t % W, h = t / W % H, c = t / (W * H) % C, g = t / (W * H * C) % G, n = t / (W * H * C * G);
  for (long long k = 0; k < K; ++k)
    for (long long y = 0; y < Y; ++y)
      for (long long x = 0; x < X; ++x) {
        const long long hs = h + SMOKE_PH - y * SMOKE_DH, ws = w + SMOKE_PW - x * SMOKE_DW;
        if (hs < 0 || ws < 0 || hs % SMOKE_SH || ws % SMOKE_SW) continue;
        const long long ho = hs / SMOKE_SH, wo = ws / SMOKE_SW;
        if (ho >= HO || wo >= WO) continue;
        sum += SMOKE_LOAD(fil[SMOKE_AT_FIL(g, k, c, y, x)]) * SMOKE_LOAD(out[SMOKE_AT_OUT(n, g, k, ho, wo)]);
      }
  const long long at = SMOKE_AT_INP(n, g, c, h, w);
  SMOKE_WRITE_T *const to = inp;
#else
  if (t >= G * K * C * Y * X) return;
  const long long x = t % X, y = t / X % Y, c = t / (X * Y) % C, k = t / (X * Y * C) % K, g = t / (X * Y * C * K);
  for (long long n = 0; n < N; ++n)
    for (long long ho = 0; ho < HO; ++ho)
      for (long long wo = 0; wo < WO; ++wo) {
        const long long h = ho * SMOKE_SH - SMOKE_PH + y * SMOKE_DH, w = wo * SMOKE_SW - SMOKE_PW + x * SMOKE_DW;
        if (h < 0 || h >= H || w < 0 || w >= W) continue;
        sum += SMOKE_LOAD(inp[SMOKE_AT_INP(n, g, c, h, w)]) * SMOKE_LOAD(out[SMOKE_AT_OUT(n, g, k, ho, wo)]);
      }
  const long long at = SMOKE_AT_FIL(g, k, c, y, x);
  SMOKE_WRITE_T *const to = fil;
#endif
#if SMOKE_TENSORS == 4
  /* Through the workspace and back, so that a wrong fourth pointer shows in both tensors. */
  wsp[at] = (float)sum;
  sum = (SMOKE_SUM_T)wsp[at];
#endif
  to[at] = SMOKE_STORE(sum);
}

#define SMOKE_STATIC_VIEWS(from)                                                     \
  const struct smoke_view fv = SMOKE_JOIN(SMOKE_NAME, packed)(SMOKE_FIL_SIZES);      \
  const struct smoke_view iv = SMOKE_JOIN(SMOKE_NAME, packed)(SMOKE_INP_SIZES);      \
  const struct smoke_view ov = SMOKE_JOIN(SMOKE_NAME, packed)(SMOKE_OUT_SIZES);
#define SMOKE_BY_VALUE_VIEW(t) {t.offset, {t.size[0], t.size[1], t.size[2], t.size[3], t.size[4]}, {t.stride[0], t.stride[1], t.stride[2], t.stride[3], t.stride[4]}}
#define SMOKE_EXPANDED_VIEW(t) {t##_offset, {t##_size0, t##_size1, t##_size2, t##_size3, t##_size4}, {t##_stride0, t##_stride1, t##_stride2, t##_stride3, t##_stride4}}
#if SMOKE_DYNAMIC && SMOKE_FORM == 2
#define SMOKE_VIEWS(from) \
  const struct smoke_view fv = SMOKE_BY_VALUE_VIEW(from fil), iv = SMOKE_BY_VALUE_VIEW(from inp), ov = SMOKE_BY_VALUE_VIEW(from out);
#elif SMOKE_DYNAMIC && SMOKE_FORM == 1
#define SMOKE_VIEWS(from) \
  const struct smoke_view fv = SMOKE_EXPANDED_VIEW(from fil), iv = SMOKE_EXPANDED_VIEW(from inp), ov = SMOKE_EXPANDED_VIEW(from out);
#else
#define SMOKE_VIEWS(from) SMOKE_STATIC_VIEWS(from)
#endif
#if SMOKE_TENSORS == 4
#define SMOKE_ARGUMENTS(F, P, V, S) SMOKE_FIRST(F, P, V, F) SMOKE_REST(F, P, V, S) SMOKE_LAST(F, P, V, S)
#define SMOKE_WORKSPACE(from) from SMOKE_POINTER(wsp)
#else
#define SMOKE_ARGUMENTS(F, P, V, S) SMOKE_FIRST(F, P, V, F) SMOKE_REST(F, P, V, S)
#define SMOKE_WORKSPACE(from) 0
#endif

#if SMOKE_ON_DEVICE
#define SMOKE_ONE(type, name) type name
#define SMOKE_NEXT(type, name) , type name
extern "C" __global__ void SMOKE_NAME(SMOKE_ARGUMENTS(SMOKE_ONE, SMOKE_NEXT, SMOKE_NEXT, SMOKE_NEXT)) {
  SMOKE_VIEWS()
  SMOKE_JOIN(SMOKE_NAME, element)(SMOKE_POINTER(fil), SMOKE_POINTER(inp), SMOKE_POINTER(out), SMOKE_WORKSPACE(), fv, iv, ov, SMOKE_THREAD);
}
#else
#define SMOKE_ONE(type, name) type name;
#define SMOKE_NEXT(type, name) type name;
struct SMOKE_JOIN(SMOKE_NAME, arguments) { SMOKE_ARGUMENTS(SMOKE_ONE, SMOKE_NEXT, SMOKE_NEXT, SMOKE_NEXT) };
void SMOKE_NAME(const struct SMOKE_JOIN(SMOKE_NAME, arguments) *a, long long threads) {
  SMOKE_VIEWS(a->)
  for (long long t = 0; t < threads; ++t)
    SMOKE_JOIN(SMOKE_NAME, element)(a->SMOKE_POINTER(fil), a->SMOKE_POINTER(inp), a->SMOKE_POINTER(out), SMOKE_WORKSPACE(a->), fv, iv, ov, t);
}
/* The places of the arguments as this compiler laid them out, for the static gate: offset, size, is it a pointer. */
#define SMOKE_PLACE(name) __builtin_offsetof(struct SMOKE_JOIN(SMOKE_NAME, arguments), name), sizeof(((struct SMOKE_JOIN(SMOKE_NAME, arguments) *)0)->name)
#define SMOKE_TELL_POINTER(type, name) {SMOKE_PLACE(name), 1},
#define SMOKE_TELL_VALUE(type, name) {SMOKE_PLACE(name), 0},
#if SMOKE_FORM == 2
#define SMOKE_TELL_FIRST SMOKE_TELL_VALUE
#else
#define SMOKE_TELL_FIRST SMOKE_TELL_POINTER
#endif
#define SMOKE_TEXT_(name) #name
#define SMOKE_TEXT(name) SMOKE_TEXT_(name)
const struct { char magic[16], name[112]; unsigned arguments[52][3]; } SMOKE_JOIN(SMOKE_NAME, table) = {
    "relmgr-kernel-1", SMOKE_TEXT(SMOKE_NAME), {SMOKE_ARGUMENTS(SMOKE_TELL_FIRST, SMOKE_TELL_POINTER, SMOKE_TELL_VALUE, SMOKE_TELL_VALUE)}};
#endif
