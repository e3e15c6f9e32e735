// Softmax and cross entropy of rows, for one type of number. softmax_simd.c includes this file once for each
// type.
//
// Parameters: T, the type; NAME(x), the name of function x for the type; EXP(x) and LOG(x).

static T NAME(sum_lanes)(const T *lanes)
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

static T NAME(sum)(const T *xs, int64_t n)
{
    T lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++)
            lanes[l] += xs[i + l];
    }
    for (; i < n; i++)
        lanes[i % LANES] += xs[i];
    return NAME(sum_lanes)(lanes);
}

// The sum of labels * z; a label of 0 counts as 0 even where z is infinite.
static T NAME(dot)(const T *labels, const T *z, int64_t n)
{
    T lanes[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++)
            lanes[l] += labels[i + l] != 0 ? labels[i + l] * z[i + l] : 0;
    }
    for (; i < n; i++)
        lanes[i % LANES] += labels[i] != 0 ? labels[i] * z[i] : 0;
    return NAME(sum_lanes)(lanes);
}

static T NAME(max)(const T *xs, int64_t n)
{
    T max = xs[0], lanes[WIDE];
    int64_t i = 1;
    if (n >= 2 * WIDE) {
        for (int l = 0; l < WIDE; l++)
            lanes[l] = max;
        for (i = 0; i + WIDE <= n; i += WIDE) {
            BD_VECTORIZE
            for (int l = 0; l < WIDE; l++)
                lanes[l] = lanes[l] < xs[i + l] ? xs[i + l] : lanes[l];
        }
        for (int l = 0; l < WIDE; l++)
            max = max < lanes[l] ? lanes[l] : max;
    }
    for (; i < n; i++)
        max = max < xs[i] ? xs[i] : max;
    return max;
}

// y = x - max(x), row by row.
static void NAME(center)(const T *xs, T *ys, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows && !bd_interrupted(); r++, xs += cols, ys += cols) {
        T max = NAME(max)(xs, cols);
        if (is_over(cols)) return;
        BD_VECTORIZE
        for (int64_t c = 0; c < cols; c++)
            ys[c] = xs[c] - max;
    }
}

static void NAME(exp_all)(const T *xs, T *ys, int64_t n)
{
    for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;) {
        BD_VECTORIZE
        for (; i < end; i++)
            ys[i] = EXP(xs[i]);
    }
}

static void NAME(softmax)(const void *xp, void *yp, int64_t rows, int64_t cols)
{
    const T *xs = xp;
    T *ys = yp;
    if (cols == 0) return;
    for (int64_t block; rows > 0 && !bd_interrupted(); rows -= block, xs += block * cols) {
        block = block_rows(rows, cols);
        NAME(center)(xs, ys, block, cols);
        NAME(exp_all)(ys, ys, block * cols);
        for (int64_t r = 0; r < block && !is_over(cols); r++, ys += cols) {
            T scale = 1 / NAME(sum)(ys, cols);
            BD_VECTORIZE
            for (int64_t c = 0; c < cols; c++)
                ys[c] *= scale;
        }
    }
}

static void NAME(log_softmax)(const void *xp, void *yp, int64_t rows, int64_t cols)
{
    T *ys = yp, p[BLOCK];
    if (cols == 0) return;
    NAME(center)(xp, ys, rows, cols);
    for (int64_t r = 0; r < rows && !bd_interrupted(); r++, ys += cols) {
        T sum = 0;
        for (int64_t at = 0; at < cols; at += BLOCK) {
            int64_t n = cols - at < BLOCK ? cols - at : BLOCK;
            NAME(exp_all)(ys + at, p, n);
            sum += NAME(sum)(p, n);
        }
        T log_sum = LOG(sum);
        BD_VECTORIZE
        for (int64_t c = 0; c < cols; c++)
            ys[c] -= log_sum;
    }
}

// loss = sum labels * (log(sum exp z) - z), with z = x - max(x).
static void NAME(cross_entropy)(const void *xp, const void *lp, void *loss_p, void *back_p, int64_t rows,
                                int64_t cols)
{
    const T *xs = xp, *labels = lp;
    T *loss = loss_p, *back = back_p;
    for (int64_t r = 0; cols == 0 && r < rows; r++)
        loss[r] = 0;
    if (cols == 0) return;
    for (int64_t block; rows > 0 && !bd_interrupted(); rows -= block, xs += block * cols) {
        block = block_rows(rows, cols);
        NAME(center)(xs, back, block, cols);
        for (int64_t r = 0; r < block && !is_over(cols); r++)
            loss[r] = -NAME(dot)(labels + r * cols, back + r * cols, cols);
        NAME(exp_all)(back, back, block * cols);
        for (int64_t r = 0; r < block && !is_over(cols); r++, back += cols, labels += cols, loss++) {
            T sum = NAME(sum)(back, cols), scale = 1 / sum;
            *loss += NAME(sum)(labels, cols) * LOG(sum);
            BD_VECTORIZE
            for (int64_t c = 0; c < cols; c++)
                back[c] = back[c] * scale - labels[c];
        }
    }
}

static void NAME(sparse_cross_entropy)(const void *xp, const int64_t *labels, void *loss_p, void *back_p,
                                       int64_t rows, int64_t cols)
{
    const T *xs = xp;
    T *loss = loss_p, *back = back_p;
    if (cols == 0) return;
    for (int64_t block; rows > 0 && !bd_interrupted(); rows -= block, xs += block * cols) {
        block = block_rows(rows, cols);
        NAME(center)(xs, back, block, cols);
        for (int64_t r = 0; r < block && !is_over(cols); r++)
            loss[r] = -back[r * cols + labels[r]];
        NAME(exp_all)(back, back, block * cols);
        for (int64_t r = 0; r < block && !is_over(cols); r++, back += cols, labels++, loss++) {
            T sum = NAME(sum)(back, cols), scale = 1 / sum;
            *loss += LOG(sum);
            BD_VECTORIZE
            for (int64_t c = 0; c < cols; c++)
                back[c] *= scale;
            back[*labels] -= 1;
        }
    }
}

#undef T
#undef NAME
#undef EXP
#undef LOG
