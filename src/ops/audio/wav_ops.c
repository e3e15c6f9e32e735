// DecodeWav and EncodeWav: sounds with 16 bits per sample, as floats from -1 to 1.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/audio/wav.h"
#include "ops/common/string_out.h"

static bool check_scalar(bd_op_ctx *c, int i, const char *what)
{
    if (bd_input(c, i)->shape.rank == 0) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be scalar, got shape %s", what,
               bd_shape_str(&bd_input(c, i)->shape, text));
    return false;
}

// ---- DecodeWav ----

static braid_code decode_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t channels = bd_node_attr_int(c->node, "desired_channels"),
            samples = bd_node_attr_int(c->node, "desired_samples");
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    if (code) return code;
    if (channels < -1)
        return bd_shape_ctx_fail(c, st, "channels must be non-negative, got %lld", (long long)channels);
    if (samples < -1)
        return bd_shape_ctx_fail(c, st, "samples must be non-negative, got %lld", (long long)samples);
    c->outputs[0] = bd_shape2(samples, channels);
    c->outputs[1] = BD_SCALAR;
    return BRAID_OK;
}

// Fills missing samples: silence after the end, and copies of the last channel for missing channels.
static void copy_samples(const bd_wav *wav, int64_t frames, int64_t channels, float *out)
{
    for (int64_t i = 0; i < frames && !bd_interrupted_at(i); i++) {
        for (int64_t k = 0; k < channels; k++, out++)
            *out = i < wav->frames ? bd_wav_sample(wav, i, k < wav->channels ? k : wav->channels - 1) : 0;
    }
}

static void decode_run(bd_op_ctx *c)
{
    bd_wav wav;
    BD_STATUS(st);
    int64_t channels = bd_node_attr_int(c->node, "desired_channels"),
            frames = bd_node_attr_int(c->node, "desired_samples"), total;
    if (!check_scalar(c, 0, "contents")) return;
    const bd_string *file = bd_tensor_str(bd_input(c, 0));
    if (bd_wav_read(file->data, file->len, &wav, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_shape shape = bd_shape2(frames < 0 ? wav.frames : frames, channels < 0 ? wav.channels : channels);
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *audio = bd_output(c, 0, BRAID_FLOAT, &shape),
                 *rate = audio ? bd_output(c, 1, BRAID_INT32, &BD_SCALAR) : NULL;
    if (!rate) return;
    if (total > 0) copy_samples(&wav, shape.dims[0], shape.dims[1], bd_tensor_f32(audio));
    *bd_tensor_i32(rate) = (int32_t)wav.rate;
}

BD_OP(DecodeWav) = {
    .signature = "(contents: string) -> (audio: float, sample_rate: int32)",
    .attrs = "desired_channels:int=-1; desired_samples:int=-1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = decode_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = decode_run}),
    .doc =
        "Decodes a WAV file of 16 bits per sample to samples [samples, channels] in [-1, 1], and the sample rate.",
};

// ---- EncodeWav ----

static braid_code encode_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    c->outputs[0] = BD_SCALAR;
    return code ? code : bd_shape_ctx_rank(c, 1, 0, st);
}

static void encode_run(bd_op_ctx *c)
{
    const braid_tensor *audio = bd_input(c, 0);
    char text[BD_SHAPE_STR_MAX];
    if (audio->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "audio must be 2-dimensional, but has shape %s",
                   bd_shape_str(&audio->shape, text));
        return;
    }
    if (!check_scalar(c, 1, "Input sample_rate")) return;
    int32_t rate = *bd_tensor_i32(bd_input(c, 1));
    int64_t frames = audio->shape.dims[0], channels = audio->shape.dims[1];
    size_t size = bd_wav_size(frames, channels);
    if (rate <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sample_rate must be in (0, 2^32), got: %d", rate);
    else if (channels < 1 || channels > UINT16_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_channels must be in (0, 2^16), got: %lld",
                   (long long)channels);
    else if (frames < 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_frames must be positive.");
    else if (size == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Provided channels and frames cannot be encoded as a WAV.");
    if (bd_op_failed(c)) return;
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    char *out = y ? bd_string_room(c, y, 0, size) : NULL;
    if (out) bd_wav_write(bd_tensor_f32(audio), frames, channels, (uint32_t)rate, (uint8_t *)out);
}

BD_OP(EncodeWav) = {
    .signature = "(audio: float, sample_rate: int32) -> (contents: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = encode_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = encode_run}),
    .doc = "Encodes samples [samples, channels] between -1 and 1 as a WAV file of 16 bits per sample.",
};
