// The processor's treatment of denormal floating-point numbers. A network that has learned its data has
// gradients whose squares are denormal, and arithmetic with these takes a hundred times as long; threads that
// run kernels flush them to zero, as TensorFlow's do.
#ifndef BD_BASE_FLOAT_MODE_H
#define BD_BASE_FLOAT_MODE_H

#include <stdint.h>

// Denormal operands and results are zero on this thread from now on. Returns the mode before, for
// bd_float_mode_restore.
static inline uint64_t bd_float_mode_flush_denormals(void)
{
    uint64_t was = 0;
#if defined(__x86_64__)
    was = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((unsigned)was | 0x8040); // flush to zero, denormals are zero
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(was));
    __asm__ volatile("msr fpcr, %0" : : "r"(was | (uint64_t)1 << 24)); // flush to zero, in and out
#endif
    return was;
}

// The opposite, for algorithms that rely on gradual underflow (LAPACK's).
static inline uint64_t bd_float_mode_keep_denormals(void)
{
    uint64_t was = 0;
#if defined(__x86_64__)
    was = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr((unsigned)was & ~0x8040U);
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(was));
    __asm__ volatile("msr fpcr, %0" : : "r"(was & ~((uint64_t)1 << 24)));
#endif
    return was;
}

static inline void bd_float_mode_restore(uint64_t mode)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr((unsigned)mode);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    (void)mode;
#endif
}

#endif
