// One reduction of one type of number. reduce_simd.c includes this file once for each.
//
// Parameters: REDUCTION, the name of the function that this file defines; T, the type; START, the result of
// no elements; JOIN(a, b), the result of two partial results; TERM(x), the result of one element (default:
// x). REDUCTION and T are undefined at the end.
#define NAME(x) BD_CAT(x##_, REDUCTION)
#ifndef TERM
#define TERM(x) x
#define HAS_DEFAULT_TERM
#endif

// Takes `rows` rows of `width` columns, `stride` apart, into tile.
static inline __attribute__((always_inline)) void NAME(tile)(const T *xs, int64_t rows, int64_t width,
                                                             int64_t stride, T *restrict tile)
{
    for (int64_t c = 0; c < width; c++)
        tile[c] = START;
    for (int64_t r = 0; r < rows; r++, xs += stride) {
        BD_VECTORIZE
        for (int64_t c = 0; c < width; c++) {
            T a = tile[c], x = xs[c];
            tile[c] = (T)(JOIN(a, TERM(x)));
        }
    }
}

static inline __attribute__((always_inline)) T NAME(lanes)(const T *xs, int64_t n, int width)
{
    T lanes[WIDE];
    NAME(tile)(xs, n / width, width, width, lanes);
    for (width /= 2; width > 0; width /= 2) {
        for (int l = 0; l < width; l++) {
            T a = lanes[l], b = lanes[l + width];
            lanes[l] = (T)(JOIN(a, b));
        }
    }
    return lanes[0];
}

static T NAME(block)(const T *xs, int64_t n)
{
    T a = START;
    if (n >= 8 * WIDE) {
        a = NAME(lanes)(xs, n, WIDE);
        xs += n - n % WIDE;
        n %= WIDE;
    }
    if (n >= 2 * LANES) {
        T b = NAME(lanes)(xs, n, LANES);
        a = (T)(JOIN(a, b));
        xs += n - n % LANES;
        n %= LANES;
    }
    for (int64_t i = 0; i < n; i++) {
        T x = xs[i];
        a = (T)(JOIN(a, TERM(x)));
    }
    return a;
}

static T NAME(row)(const T *xs, int64_t n)
{
    if (n <= BLOCK) return NAME(block)(xs, n);
    if (n > BD_INTERRUPT_BLOCK && bd_interrupted()) return START;
    int64_t half = (n / 2 + BLOCK - 1) / BLOCK * BLOCK;
    T a = NAME(row)(xs, half), b = NAME(row)(xs + half, n - half);
    return (T)(JOIN(a, b));
}

static void NAME(join)(const T *part, T *ys, int64_t n)
{
    BD_VECTORIZE
    for (int64_t c = 0; c < n; c++) {
        T a = ys[c], b = part[c];
        ys[c] = (T)(JOIN(a, b));
    }
}

// Any number of rows of at most TILE columns.
static void NAME(rows)(const T *xs, int64_t rows, int64_t width, int64_t stride, T *ys)
{
    if (rows <= ROWS) {
        NAME(tile)(xs, rows, width, stride, ys);
        return;
    }
    if (bd_interrupted()) return;
    T part[TILE];
    int64_t half = rows / 2;
    NAME(rows)(xs, half, width, stride, ys);
    NAME(rows)(xs + half * stride, rows - half, width, stride, part);
    NAME(join)(part, ys, width);
}

// Columns of [count, inner].
static void NAME(columns)(const T *xs, T *ys, int64_t count, int64_t inner)
{
    for (int64_t c = 0; c < inner; c += TILE)
        NAME(rows)(xs + c, count, inner - c < TILE ? inner - c : TILE, inner, ys + c);
}

// The same for short rows: `together` rows are one row of the loop, whose parts are joined at the end.
static void NAME(narrow_columns)(const T *xs, T *ys, int64_t count, int64_t inner)
{
    T wide[2 * NARROW];
    int64_t together = 2 * NARROW / inner, many = count - count % together;
    NAME(rows)(xs + many * inner, count - many, inner, inner, ys);
    if (many == 0) return;
    NAME(rows)(xs, many / together, together * inner, together * inner, wide);
    for (int64_t p = 0; p < together; p++)
        NAME(join)(wide + p * inner, ys, inner);
}

static void REDUCTION(const void *xp, void *yp, int64_t outer, int64_t count, int64_t inner)
{
    const T *xs = xp;
    T *ys = yp;
    if (inner == 0) return;
    for (int64_t i = 0; i < outer && !bd_interrupted(); i++, xs += count * inner, ys += inner) {
        if (inner == 1) {
            *ys = NAME(row)(xs, count);
        } else if (inner < NARROW) {
            NAME(narrow_columns)(xs, ys, count, inner);
        } else {
            NAME(columns)(xs, ys, count, inner);
        }
    }
}

#undef NAME
#undef REDUCTION
#undef T
#ifdef HAS_DEFAULT_TERM
#undef HAS_DEFAULT_TERM
#undef TERM
#endif
