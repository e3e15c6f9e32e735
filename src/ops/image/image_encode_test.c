// Tests of encoders of images.
#include "base/testing/test.h"
#include "ops/testing/image_op.h"
#include "ops/testing/op_test.h"

// A lossless image is decoded to the same samples.
static void png_images_survive_a_round_trip(void **state)
{
    (void)state;
    static const char *const images[][3] = {
        {"uint8[2,3,1] 0 1 128 254 255 77", NULL, NULL},
        {"uint8[2,1,3] 0 1 128 254 255 77", "compression=0", NULL},
        {"uint8[1,2,4] 0 1 128 254 255 77 3 4", "compression=9", NULL},
        {"uint16[1,2,3] 0 1 128 65534 255 4660", NULL, "dtype=uint16"},
        {"uint16[1,1,4] 1 2 3 65535", NULL, "dtype=uint16"},
    };
    for (size_t i = 0; i < BD_COUNTOF(images); i++) {
        BD_STATUS(st);
        braid_tensor image, file, got;
        op_test_tensor(&image, images[i][0]);
        image_op_run("EncodePng", images[i][1], &image, NULL, &file, st);
        assert_ok(st);
        image_op_run("DecodePng", images[i][2], &file, NULL, &got, st);
        assert_ok(st);
        op_test_expect(&got, images[i][0], 0, images[i][0]);
        bd_tensor_fini(&image);
        bd_tensor_fini(&file);
        bd_tensor_fini(&got);
    }
}

// Encodes a gray image of one value, decodes it and returns the file's length.
static size_t jpeg_round_trip(const char *op, const char *attrs, const char *quality)
{
    BD_STATUS(st);
    braid_tensor image, file, got;
    op_test_tensor(&image, "uint8[16,24,3] 100");
    image_op_run(op, attrs, &image, quality, &file, st);
    assert_ok(st);
    size_t len = bd_tensor_str(&file)->len;
    image_op_run("DecodeJpeg", NULL, &file, NULL, &got, st);
    assert_ok(st);
    op_test_expect(&got, "uint8[16,24,3] 100", 0, op);
    bd_tensor_fini(&image);
    bd_tensor_fini(&file);
    bd_tensor_fini(&got);
    return len;
}

static void jpeg_images_survive_a_round_trip(void **state)
{
    (void)state;
    size_t plain = jpeg_round_trip("EncodeJpeg", NULL, NULL);
    assert_true(jpeg_round_trip("EncodeJpeg", "optimize_size=true", NULL) < plain);
    assert_true(jpeg_round_trip("EncodeJpeg", "progressive=true", NULL) != plain);
    assert_true(jpeg_round_trip("EncodeJpeg", "chroma_downsampling=false", NULL) > plain);
    // Two bytes of marker, two of length, the name and its zero.
    assert_int_equal(jpeg_round_trip("EncodeJpeg", "xmp_metadata=abc", NULL), plain + 4 + 29 + 3);
    assert_int_equal(jpeg_round_trip("EncodeJpeg", "format=rgb; density_unit=cm; quality=95", NULL), plain);
    assert_int_equal(jpeg_round_trip("EncodeJpegVariableQuality", NULL, "int32[] 95"), plain);
}

// Checks the header: units of density, and the density in each direction (JFIF 1.02).
static void the_density_is_written(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor image, file;
    op_test_tensor(&image, "uint8[1,1,1] 100");
    image_op_run("EncodeJpeg", "density_unit=cm; x_density=258; y_density=3", &image, NULL, &file, st);
    assert_ok(st);
    assert_memory_equal(bd_tensor_str(&file)->data + 13, ((uint8_t[]){2, 1, 2, 0, 3}), 5);
    bd_tensor_fini(&image);
    bd_tensor_fini(&file);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "EncodePng", .inputs = "uint8[2,3] 1", .want = "InvalidArgument: image must be 3-dimensional"},
        {.op = "EncodePng",
         .inputs = "uint8[2,3,5] 1",
         .want = "InvalidArgument: image must have 1, 2, 3, or 4 channels, got 5"},
        {.op = "EncodePng", .inputs = "uint8[0,3,1]", .want = "InvalidArgument: no PNG image is 0 x 3"},
        {.op = "EncodePng",
         .attrs = "compression=10",
         .inputs = "uint8[2,3,1] 1",
         .want = "InvalidArgument: compression should be in [-1,9], got 10"},
        {.op = "EncodeJpeg", .inputs = "uint8[2] 1", .want = "InvalidArgument: image must be 3-dimensional"},
        {.op = "EncodeJpeg",
         .inputs = "uint8[2,2,2] 1",
         .want = "InvalidArgument: image must have 1 or 3 channels, got [2,2,2]"},
        {.op = "EncodeJpeg",
         .attrs = "format=grayscale",
         .inputs = "uint8[2,2,3] 1",
         .want = "InvalidArgument: format grayscale expects 1 channels, got [2,2,3]"},
        {.op = "EncodeJpeg",
         .attrs = "quality=101",
         .inputs = "uint8[2,2,3] 1",
         .want = "InvalidArgument: quality must be in [0,100], got 101"},
        {.op = "EncodeJpeg", .inputs = "uint8[0,2,3]", .want = "Internal: JPEG encoding failed"},
        {.op = "EncodeJpeg", .inputs = "uint8[70000,1,1] 1", .want = "Internal: JPEG encoding failed"},
        {.op = "EncodeJpegVariableQuality",
         .inputs = "uint8[2,2,3] 1; int32[1] 5",
         .want = "InvalidArgument: quality must be scalar, got shape [1]"},
        {.op = "EncodeJpegVariableQuality",
         .inputs = "uint8[2,2,3] 1; int32[] -1",
         .want = "InvalidArgument: quality must be in [0,100], got -1"},
        {.op = "EncodePng", .inputs = "uint8[] 1", .want = "InvalidArgument: image must be 3-dimensional"},
        {.op = "EncodeJpeg", .inputs = "uint8[] 1", .want = "InvalidArgument: image must be 3-dimensional"},
        {.op = "EncodeJpegVariableQuality",
         .inputs = "uint8[0,2,3]; int32[] 90",
         .want = "Internal: JPEG encoding failed"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"EncodePng", NULL, "uint8[?,?,3]", "[]"},
        {"EncodeJpeg", NULL, "uint8[1,2]", "InvalidArgument: must be rank 3 but is rank 2"},
        {"EncodeJpegVariableQuality", NULL, "uint8?; int32[1]",
         "InvalidArgument: must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_images_survive_a_round_trip),
        cmocka_unit_test(jpeg_images_survive_a_round_trip),
        cmocka_unit_test(the_density_is_written),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
