// C11's complex numbers, whole: glibc leaves the macros that make one of its parts out for clang.
#ifndef BD_BASE_COMPLEX_H
#define BD_BASE_COMPLEX_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(real, imag) __builtin_complex((double)(real), (double)(imag))
#define CMPLXF(real, imag) __builtin_complex((float)(real), (float)(imag))
#endif

#endif
