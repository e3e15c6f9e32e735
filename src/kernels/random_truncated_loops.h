// Truncated normal numbers of one type. random_truncated.c includes this file once for each type.
//
// Parameters: T, the type; N, the number of values that the stream gives in one step; NAME(x), the name of
// function x for the type; SQRT(x), EXP(x) and LOG(x).

typedef struct NAME(job) {
    T mean, deviation, low, high;
    int64_t count;
    T *out;
} NAME(job);

// Takes z, or one more rejection. False when there were too many.
static bool NAME(settle)(const NAME(job) * j, bool accept, T z, int64_t *done, int *rejected)
{
    if (accept) j->out[(*done)++] = z * j->deviation + j->mean;
    *rejected = accept ? 0 : *rejected + 1;
    return *rejected < REJECTED_MAX;
}

static bool NAME(by_normal)(bd_philox *stream, const NAME(job) * j)
{
    int rejected = 0;
    for (int64_t done = 0; done < j->count && !bd_interrupted();) {
        T z[N];
        NAME(normals)(stream, z);
        for (int i = 0; i < (N) && done < j->count; i++) {
            if (!NAME(settle)(j, z[i] >= j->low && z[i] <= j->high, z[i], &done, &rejected)) return false;
        }
    }
    return true;
}

static bool NAME(by_uniform)(bd_philox *stream, const NAME(job) * j)
{
    T square = j->low < 0 ? 0 : j->low * j->low, width = j->high - j->low;
    int rejected = 0;
    for (int64_t done = 0; done < j->count && !bd_interrupted();) {
        T place[N], u[N];
        NAME(uniforms)(stream, place);
        NAME(uniforms)(stream, u);
        for (int i = 0; i < (N) && done < j->count; i++) {
            T z = place[i] * width + j->low;
            if (!NAME(settle)(j, u[i] <= EXP((square - z * z) / 2), z, &done, &rejected)) return false;
        }
    }
    return true;
}

static bool NAME(by_exponential)(bd_philox *stream, const NAME(job) * j)
{
    T alpha = (j->low + SQRT(j->low * j->low + 4)) / 2;
    int rejected = 0;
    for (int64_t done = 0; done < j->count && !bd_interrupted();) {
        T u[N];
        NAME(uniforms)(stream, u);
        for (int i = 0; i < (N) && done < j->count; i += 2) {
            T z = -LOG(u[i]) / alpha + j->low;
            T x = j->low < alpha ? alpha - z : j->low - alpha;
            bool accept = u[i + 1] <= EXP(-x * x / 2) && z < j->high;
            if (!NAME(settle)(j, accept, z, &done, &rejected)) return false;
        }
    }
    return true;
}

static bool NAME(draw)(bd_philox *stream, const NAME(job) * j)
{
    const T far = (T)DEVIATIONS_FOR_NORMAL;
    T root = SQRT(j->low * j->low + 4);
    T cutoff = 2 * EXP((T)0.5 + j->low * (j->low - root) / 4) / (j->low + root);
    if ((j->low < -far && j->high >= 0) || (j->high > far && j->low <= 0)) return NAME(by_normal)(stream, j);
    return j->high - j->low < cutoff ? NAME(by_uniform)(stream, j) : NAME(by_exponential)(stream, j);
}

static bd_truncated_result NAME(truncated)(bd_philox *stream, const bd_truncated_normal *d, int64_t count,
                                           T *out)
{
    T mean = (T)d->mean, deviation = (T)d->deviation, low = (T)d->low, high = (T)d->high;
    if (!(deviation > 0 && low < high && (isfinite(low) || isfinite(high)))) return BD_TRUNCATED_INVALID;
    if ((isinf(low) && low < 0) || high < mean) {
        T other = low;
        low = high;
        high = other;
        deviation = -deviation;
    }
    NAME(job)
    j = {.mean = mean,
         .deviation = deviation,
         .low = (low - mean) / deviation,
         .high = (high - mean) / deviation,
         .count = count,
         .out = out};
    return NAME(draw)(stream, &j) ? BD_TRUNCATED_OK : BD_TRUNCATED_NO_SAMPLE;
}

#undef T
#undef N
#undef NAME
#undef SQRT
#undef EXP
#undef LOG
