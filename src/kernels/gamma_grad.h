// The derivative of samples of a gamma distribution.
#ifndef BD_KERNELS_GAMMA_GRAD_H
#define BD_KERNELS_GAMMA_GRAD_H

// How a number `x` drawn from a gamma distribution of shape `alpha` moves with alpha when its place in the
// distribution stays: minus the derivative of the distribution function by alpha, over the density (Figurnov
// et al., Implicit Reparameterization Gradients, 2018). NaN for what no such distribution gives.
double bd_gamma_sample_grad(double alpha, double x);

#endif
