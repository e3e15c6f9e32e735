// Numbers of distributions that take a varying number of draws, each from a place of its own in a Philox
// stream.
//
// The algorithms, and the order in which they take numbers from the stream, are TensorFlow's, so that the
// same seeds give the same values.
#ifndef BD_KERNELS_RANDOM_VARIATES_H
#define BD_KERNELS_RANDOM_VARIATES_H

#include "base/random.h"
#include <stdbool.h>

// Draws a number of a gamma distribution of shape `alpha` and scale 1 (Marsaglia and Tsang, A Simple Method
// for Generating Gamma Variables, 2000). NaN when alpha is negative or NaN.
double bd_random_gamma(bd_philox stream, double alpha);

// One number of a Poisson distribution, at most `highest`: by products of uniform numbers below a rate of 10
// (Knuth), from there on by transformed rejection (Hoermann, The Transformed Rejection Method for Generating
// Poisson Random Variables, 1993). NaN when the rate is no finite number, or so far above `highest` that no
// draw falls below.
double bd_random_poisson(bd_philox stream, double rate, double highest);

// Draws a number of a binomial distribution, for the output at `place` among those of `stream`: below 10
// expected successes (or failures, when those are fewer) by sums of geometric numbers, otherwise by
// transformed rejection (Hoermann, The Generation of Binomial Random Variates, 1993). NaN when `count` is not
// a finite number or `chance` is not a probability.
double bd_random_binomial(bd_philox stream, int64_t place, double count, double chance);

// A normal distribution of which only the part between two bounds is drawn from.
typedef struct bd_truncated_normal {
    double mean, deviation, low, high;
} bd_truncated_normal;

typedef enum bd_truncated_result {
    BD_TRUNCATED_OK,
    BD_TRUNCATED_INVALID, // deviation not above 0, no numbers between the bounds, or both are infinite
    BD_TRUNCATED_NO_SAMPLE
} bd_truncated_result;

// Fills `out` with `count` numbers and advances the stream; computes in the precision of the elements
// (Robert, Simulation of Truncated Normal Variables, 1995).
bd_truncated_result bd_random_truncated_normal_f32(bd_philox *stream, const bd_truncated_normal *d,
                                                   int64_t count, float *out);
bd_truncated_result bd_random_truncated_normal_f64(bd_philox *stream, const bd_truncated_normal *d,
                                                   int64_t count, double *out);

#endif
