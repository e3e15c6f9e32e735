// The derivative of samples of a gamma distribution.
#ifndef BD_KERNELS_GAMMA_GRAD_H
#define BD_KERNELS_GAMMA_GRAD_H

// The derivative of a sample `x` of a gamma distribution of shape `alpha` by alpha at a constant quantile:
// minus the derivative of the distribution function by alpha, over the density (Figurnov et al., Implicit
// Reparameterization Gradients, 2018). NaN for arguments outside of the distribution.
double bd_gamma_sample_grad(double alpha, double x);

#endif
