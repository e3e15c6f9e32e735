// Tests of discrete Fourier transforms. Values are numpy's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define X34 "complex128[3,4] 1 2j 3 4-1j 0 1 -1 2 1j 0 2 -1+1j"

static void transforms_follow_their_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"FFT", "Tcomplex=complex128", "complex128[4] 1 2 3 4", "complex128[4] 10 -2+2j -2 -2-2j"},
        {"IFFT", "Tcomplex=complex128", "complex128[4] 10 -2+2j -2 -2-2j", "complex128[4] 1 2 3 4"},
        // Lengths that are no powers of two, and a batch.
        {"FFT", "Tcomplex=complex128", "complex128[2,3] 1 2 3 1j 0 0",
         "complex128[2,3] 6 -1.5+0.8660254037844386j -1.5-0.8660254037844386j 1j 1j 1j"},
        {"FFT", NULL, "complex64[1] 2-1j", "complex64[1] 2-1j"},
        {"FFT2D", "Tcomplex=complex128", "complex128[2,2] 1 2 3 4", "complex128[2,2] 10 -2 -4 0"},
        {"IFFT2D", "Tcomplex=complex128", "complex128[2,2] 10 -2 -4 0", "complex128[2,2] 1 2 3 4"},
        {"FFT3D", "Tcomplex=complex128", "complex128[1,2,2] 1 2 3 4", "complex128[1,2,2] 10 -2 -4 0"},
        {"RFFT", NULL, "float[4] 1 2 3 4; int32[1] 4", "complex64[3] 10 -2+2j -2"},
        {"RFFT", NULL, "float[4] 1 2 3 4; int32[1] 3", "complex64[2] 6 -1.5+0.8660254037844386j"},
        {"IRFFT", NULL, "complex64[3] 10 -2+2j -2; int32[1] 4", "float[4] 1 2 3 4"},
        {"IRFFT", NULL, "complex64[3] 6 -1.5+0.8660254037844386j 7; int32[1] 3", "float[3] 1 2 3"},
        {"RFFT2D", "Treal=double; Tcomplex=complex128", "double[2,2] 1 2 3 4; int32[2] 2 2",
         "complex128[2,2] 10 -2 -4 0"},
        {"IRFFT2D", "Treal=double; Tcomplex=complex128", "complex128[2,2] 10 -2 -4 0; int32[2] 2 2",
         "double[2,2] 1 2 3 4"},
        {"BatchFFT", NULL, "complex64[2] 1 2", "complex64[2] 3 -1"},
        {"BatchIFFT", NULL, "complex64[2] 3 -1", "complex64[2] 1 2"},
        {"BatchFFT2D", NULL, "complex64[2,2] 1 2 3 4", "complex64[2,2] 10 -2 -4 0"},
        {"BatchIFFT2D", NULL, "complex64[2,2] 10 -2 -4 0", "complex64[2,2] 1 2 3 4"},
        {"BatchFFT3D", NULL, "complex64[1,2,2] 1 2 3 4", "complex64[1,2,2] 10 -2 -4 0"},
        {"BatchIFFT3D", NULL, "complex64[1,2,2] 10 -2 -4 0", "complex64[1,2,2] 1 2 3 4"},
        {"IFFT3D", NULL, "complex64[1,2,2] 10 -2 -4 0", "complex64[1,2,2] 1 2 3 4"},
        {"RFFT3D", NULL, "float[1,2,2] 1 2 3 4; int32[3] 1 2 2", "complex64[1,2,2] 10 -2 -4 0"},
        {"IRFFT3D", NULL, "complex64[1,2,2] 10 -2 -4 0; int32[3] 1 2 2", "float[1,2,2] 1 2 3 4"},
        {"FFT", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"FFT", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"FFT2D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"FFT2D", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"FFT3D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"FFT3D", NULL, "complex64[2,0,1]", "complex64[2,0,1]"},
        {"IFFT", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"IFFT", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"IFFT2D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"IFFT2D", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"IFFT3D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"IFFT3D", NULL, "complex64[2,0,1]", "complex64[2,0,1]"},
        {"BatchFFT", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"BatchFFT", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"BatchFFT2D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"BatchFFT2D", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"BatchFFT3D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"BatchFFT3D", NULL, "complex64[2,0,1]", "complex64[2,0,1]"},
        {"BatchIFFT", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"BatchIFFT", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"BatchIFFT2D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"BatchIFFT2D", NULL, "complex64[2,0]", "complex64[2,0]"},
        {"BatchIFFT3D", NULL, "complex64[] 1", "InvalidArgument: rank"},
        {"BatchIFFT3D", NULL, "complex64[2,0,1]", "complex64[2,0,1]"},
        {"RFFT", NULL, "float[] 1; int32[1] 0", "InvalidArgument: rank"},
        {"RFFT", NULL, "float[1] 1; int32[] 1", "InvalidArgument: fft_length must have shape"},
        {"RFFT", NULL, "float[0]; int32[1] 0", "complex64[0]"},
        {"RFFT2D", NULL, "float[] 1; int32[2] 0 0", "InvalidArgument: rank"},
        {"RFFT2D", NULL, "float[1,1] 1; int32[] 1", "InvalidArgument: fft_length must have shape"},
        {"RFFT2D", NULL, "float[0,0]; int32[2] 0 0", "complex64[0,0]"},
        {"RFFT3D", NULL, "float[] 1; int32[3] 0 0 0", "InvalidArgument: rank"},
        {"RFFT3D", NULL, "float[1,1,1] 1; int32[] 1", "InvalidArgument: fft_length must have shape"},
        {"RFFT3D", NULL, "float[0,0,0]; int32[3] 0 0 0", "complex64[0,0,0]"},
        {"IRFFT", NULL, "complex64[] 1; int32[1] 0", "InvalidArgument: rank"},
        {"IRFFT", NULL, "complex64[1] 1; int32[] 1", "InvalidArgument: fft_length must have shape"},
        {"IRFFT", NULL, "complex64[0]; int32[1] 0", "float[0]"},
        {"IRFFT2D", NULL, "complex64[] 1; int32[2] 0 0", "InvalidArgument: rank"},
        {"IRFFT2D", NULL, "complex64[1,1] 1; int32[] 1", "InvalidArgument: fft_length must have shape"},
        {"IRFFT2D", NULL, "complex64[0,0]; int32[2] 0 0", "float[0,0]"},
        {"IRFFT3D", NULL, "complex64[] 1; int32[3] 0 0 0", "InvalidArgument: rank"},
        {"IRFFT3D", NULL, "complex64[1,1,1] 1; int32[] 1", "InvalidArgument: fft_length must have shape"},
        {"IRFFT3D", NULL, "complex64[0,0,0]; int32[3] 0 0 0", "float[0,0,0]"},
        {"RFFT", NULL, "float[2] 1 2; int32[1] 0", "complex64[0]"},
        {"FFT2D", NULL, "complex64[2] 1 2", "InvalidArgument: rank"},
        {"RFFT", NULL, "float[2] 1 2; int32[1] 3",
         "InvalidArgument: must have length of at least 3 but got: 2"},
        {"RFFT", NULL, "float[2] 1 2; int32[1] -1", "InvalidArgument: "},
        {"RFFT", NULL, "float[2] 1 2; int32[2] 1 1", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"FFT", NULL, "complex64[2,?]", "complex64[2,?]"},
        {"RFFT", NULL, "[2,?]; int32[1] 5", "complex64[2,3]"},
        {"RFFT", NULL, "[2,?]; int32[1]", "complex64[2,?]"},
        {"IRFFT2D", NULL, "complex64[?,?,?]; int32[2] 4 5", "[?,4,5]"},
        {"FFT3D", NULL, "complex64[2,2]", "InvalidArgument: must be at least rank 3"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_are_the_adjoints(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"FFT", "Tcomplex=complex128", X34, NULL},
        {"IFFT", "Tcomplex=complex128", X34, NULL},
        {"FFT2D", "Tcomplex=complex128", X34, NULL},
        {"FFT3D", "Tcomplex=complex128", "complex128[1,2,3] 1 2j 3 4-1j 0 1", NULL},
        {"IFFT3D", "Tcomplex=complex128", "complex128[1,2,3] 1 2j 3 4-1j 0 1", NULL},
        {"RFFT3D", "Treal=double; Tcomplex=complex128", "double[1,2,3] 1 2 3 4 5 5; int32[3] 1 2 3", "1"},
        {"IRFFT3D", "Treal=double; Tcomplex=complex128", "complex128[1,2,3] 1 2j 3 4-1j 0 1; int32[3] 1 2 4",
         "1"},
        {"IFFT2D", "Tcomplex=complex128", X34, NULL},
        {"RFFT", "Treal=double; Tcomplex=complex128", "double[2,5] 1 2 3 4 5 5 0 -1 2 1; int32[1] 4", "1"},
        {"RFFT2D", "Treal=double; Tcomplex=complex128", "double[2,3] 1 2 3 4 5 5; int32[2] 2 3", "1"},
        {"IRFFT", "Treal=double; Tcomplex=complex128", X34 "; int32[1] 4", "1"},
        {"IRFFT2D", "Treal=double; Tcomplex=complex128", X34 "; int32[2] 3 5", "1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_follow_their_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_are_the_adjoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
