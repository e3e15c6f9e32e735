// Values of a Summary message.
#include "io/summary.h"

#include "tensor/tensor_proto.h"
#include <string.h>

// Field numbers of Summary, Summary.Value, Summary.Image and Summary.Audio.
enum {
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    VALUE_IMAGE = 4,
    VALUE_HISTOGRAM = 5,
    VALUE_AUDIO = 6,
    VALUE_NODE = 7,
    VALUE_TENSOR = 8,
    VALUE_METADATA = 9,
    IMAGE_HEIGHT = 1,
    IMAGE_WIDTH = 2,
    IMAGE_DEPTH = 3,
    IMAGE_PNG = 4,
    AUDIO_RATE = 1,
    AUDIO_CHANNELS = 2,
    AUDIO_FRAMES = 3,
    AUDIO_ENCODED = 4,
    AUDIO_CONTENT_TYPE = 5
};

bd_summary_tag bd_summary_tag_of(const char *text)
{
    return (bd_summary_tag){text, strlen(text)};
}

// A message in a message: begin, write the fields, end.
typedef struct nested {
    bd_message fields;
    bd_wire_writer out;
} nested;

static bd_wire_writer *begin(nested *n)
{
    bd_message_init(&n->fields);
    bd_wire_writer_init(&n->out, &n->fields);
    return &n->out;
}

static void end(nested *n, bd_wire_writer *out, uint32_t field)
{
    bd_wire_writer_finish(&n->out);
    bd_wire_put_tag(out, field, BD_WIRE_BYTES);
    bd_wire_put_varint(out, n->fields.bytes);
    for (size_t i = 0; i < n->fields.slice_count; i++)
        bd_wire_put_raw(out, n->fields.slices[i].data, n->fields.slices[i].len);
    bd_message_fini(&n->fields);
}

static bd_wire_writer *begin_value(nested *n, bd_summary_tag tag)
{
    bd_wire_writer *out = begin(n);
    if (tag.len > 0) bd_wire_put_bytes(out, VALUE_TAG, tag.text, tag.len);
    return out;
}

void bd_summary_put_scalar(bd_wire_writer *out, bd_summary_tag tag, float value)
{
    nested v;
    uint8_t bytes[4];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    begin_value(&v, tag);
    bd_wire_put_tag(&v.out, VALUE_SIMPLE, BD_WIRE_FIXED32);
    bd_wire_put_raw(&v.out, bytes, sizeof bytes);
    end(&v, out, SUMMARY_VALUE);
}

void bd_summary_put_histogram(bd_wire_writer *out, bd_summary_tag tag, const bd_histogram *h)
{
    nested v, histogram;
    begin_value(&v, tag);
    bd_histogram_write(h, begin(&histogram));
    end(&histogram, &v.out, VALUE_HISTOGRAM);
    end(&v, out, SUMMARY_VALUE);
}

void bd_summary_put_image(bd_wire_writer *out, bd_summary_tag tag, const bd_summary_image *image)
{
    nested v, i;
    begin_value(&v, tag);
    begin(&i);
    bd_wire_put_uint(&i.out, IMAGE_HEIGHT, (uint64_t)image->height);
    bd_wire_put_uint(&i.out, IMAGE_WIDTH, (uint64_t)image->width);
    bd_wire_put_uint(&i.out, IMAGE_DEPTH, (uint64_t)image->depth);
    bd_wire_put_bytes(&i.out, IMAGE_PNG, image->png, image->png_len);
    end(&i, &v.out, VALUE_IMAGE);
    end(&v, out, SUMMARY_VALUE);
}

void bd_summary_put_audio(bd_wire_writer *out, bd_summary_tag tag, const bd_summary_audio *audio)
{
    static const char content_type[] = "audio/wav";
    nested v, a;
    begin_value(&v, tag);
    begin(&a);
    bd_wire_put_tag(&a.out, AUDIO_RATE, BD_WIRE_FIXED32);
    bd_wire_put_raw(&a.out, &audio->rate, sizeof audio->rate);
    bd_wire_put_uint(&a.out, AUDIO_CHANNELS, (uint64_t)audio->channels);
    bd_wire_put_uint(&a.out, AUDIO_FRAMES, (uint64_t)audio->frames);
    bd_wire_put_bytes(&a.out, AUDIO_ENCODED, audio->wav, audio->wav_len);
    bd_wire_put_bytes(&a.out, AUDIO_CONTENT_TYPE, content_type, sizeof content_type - 1);
    end(&a, &v.out, VALUE_AUDIO);
    end(&v, out, SUMMARY_VALUE);
}

void bd_summary_put_tensor(bd_wire_writer *out, bd_summary_tag tag, const braid_tensor *t,
                           const void *metadata, size_t metadata_len)
{
    nested v;
    begin_value(&v, tag);
    bd_tensor_proto_put(t, VALUE_TENSOR, &v.out);
    bd_wire_put_bytes(&v.out, VALUE_METADATA, metadata, metadata_len);
    end(&v, out, SUMMARY_VALUE);
}

void bd_summary_put_node_tensor(bd_wire_writer *out, const char *node, const braid_tensor *t)
{
    nested v;
    begin(&v);
    bd_wire_put_bytes(&v.out, VALUE_NODE, node, strlen(node));
    bd_tensor_proto_put(t, VALUE_TENSOR, &v.out);
    end(&v, out, SUMMARY_VALUE);
}
