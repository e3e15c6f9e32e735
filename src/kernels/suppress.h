// Non-maximum suppression: selects boxes by score that do not overlap boxes selected before.
#ifndef BD_KERNELS_SUPPRESS_H
#define BD_KERNELS_SUPPRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bd_suppress {
    const float *boxes;    // [count, 4]: two opposite corners, y and x each; NULL: `overlaps` has the values
    const float *overlaps; // [count, count]
    const float *scores;   // [count]
    int64_t count, output_max;
    float overlap_max, score_min; // scores must be above score_min
    float sigma; // above 0: an overlap lowers scores and suppresses no box (Bodla et al., Soft-NMS, 2017)
} bd_suppress;

// The selected boxes, the best first; memory of the caller.
typedef struct bd_suppressed {
    int32_t *index; // [count, output_max: the less]
    float *score;   // the same length
    int64_t count;
} bd_suppressed;

// False when memory is short.
bool bd_suppress_run(const bd_suppress *s, bd_suppressed *out);

// Intersection over union of two boxes; 0 when one has no area.
float bd_box_overlap(const float a[4], const float b[4]);

#endif
