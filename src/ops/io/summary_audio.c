// AudioSummary: sounds of a batch as WAV files of 16 bits a sample.
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "ops/audio/wav.h"
#include "ops/io/summary.h"

#include <math.h>

// The tensor is [batch, frames, channels], or [batch, frames] of one channel; the rate an input, or in the
// older op an attr.
static bool check_input(bd_op_ctx *c, int tag, bd_summary_audio *audio)
{
    const braid_shape *s = &bd_input(c, tag + 1)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (bd_input(c, tag)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tag must be a scalar");
        return false;
    }
    if (s->rank != 2 && s->rank != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor must be 3-D or 2-D, got: %s", bd_shape_str(s, text));
        return false;
    }
    const bool has_rate = c->input_count > tag + 2;
    if (has_rate && !bd_summary_check_scalar(c, tag + 2, "sample_rate must be a scalar")) return false;
    audio->rate = has_rate ? bd_tensor_f32(bd_input(c, tag + 2))[0] : bd_node_attr(c->node, "sample_rate")->f;
    audio->frames = s->dims[1];
    audio->channels = s->rank == 2 ? 1 : s->dims[2];
    if (!(audio->rate > 0) || !(audio->rate < 4294967040.0F))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sample_rate must be > 0 and below 2^32, got %g",
                   (double)audio->rate);
    else if (audio->channels < 1 || audio->channels > UINT16_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_channels must be in (0, 2^16), got: %lld",
                   (long long)audio->channels);
    else if (bd_wav_size(audio->frames, audio->channels) == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld frames of %lld channels are no WAV file",
                   (long long)audio->frames, (long long)audio->channels);
    return !bd_op_failed(c);
}

static void encode(const bd_summary_audio *audio, const float *samples, uint8_t *out)
{
    const long rounded = lrintf(audio->rate);
    bd_wav_write(samples, audio->frames, audio->channels, rounded > 0 ? (uint32_t)rounded : 1, out);
}

static void put_audio(bd_summary_tag base, int64_t i, int64_t max_outputs, const bd_summary_audio *audio,
                      bd_wire_writer *out)
{
    bd_strbuf tag = {0};
    bd_strbuf_append_n(&tag, base.len ? base.text : "", base.len);
    bd_strbuf_append(&tag, "/audio");
    if (max_outputs > 1) bd_strbuf_appendf(&tag, "/%lld", (long long)i);
    bd_summary_put_audio(out, (bd_summary_tag){bd_strbuf_str(&tag), tag.len}, audio);
    bd_strbuf_fini(&tag);
}

void bd_summary_put_sounds(bd_op_ctx *c, int tag, bd_wire_writer *out)
{
    bd_summary_audio audio;
    if (!check_input(c, tag, &audio)) return;
    const braid_tensor *t = bd_input(c, tag + 1);
    const int64_t max_outputs = bd_node_attr_int(c->node, "max_outputs"),
                  count = bd_min(max_outputs, t->shape.dims[0]);
    const int64_t samples = audio.frames * audio.channels;
    audio.wav_len = bd_wav_size(audio.frames, audio.channels);
    uint8_t *wav = bd_try_malloc(audio.wav_len);
    if (!wav) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for a sound");
        return;
    }
    audio.wav = wav;
    for (int64_t i = 0; i < count; i++) {
        encode(&audio, bd_tensor_f32(t) + i * samples, wav);
        put_audio(bd_input_tag(c, tag, 0), i, max_outputs, &audio, out);
    }
    bd_free(wav);
}

static void audio_run(bd_op_ctx *c)
{
    bd_summary_output o;
    bd_summary_begin(&o);
    bd_summary_put_sounds(c, 0, &o.out);
    bd_summary_end(c, &o);
}

#define AUDIO_DOC "A summary of the first sounds of a batch, as WAV; samples are between -1 and 1."
BD_OP(AudioSummary) = {
    .signature = "(tag: string, tensor: float) -> (summary: string)",
    .attrs = "sample_rate:float; max_outputs:int>=1=3",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = audio_run}),
    .doc = AUDIO_DOC,
};

BD_OP(AudioSummaryV2) = {
    .signature = "(tag: string, tensor: float, sample_rate: float) -> (summary: string)",
    .attrs = "max_outputs:int>=1=3",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = audio_run}),
    .doc = AUDIO_DOC,
};
