// Summaries: the values of a Summary message, which TensorBoard shows.
#ifndef BD_IO_SUMMARY_H
#define BD_IO_SUMMARY_H

#include "io/histogram.h"

// The text of a tag, `len` bytes. An empty one is left out, as TensorFlow does.
typedef struct bd_summary_tag {
    const char *text; // borrowed
    size_t len;
} bd_summary_tag;
bd_summary_tag bd_summary_tag_of(const char *text);

// Append a value under a tag to the fields of a Summary: summaries put one after the other are one summary of
// all.
void bd_summary_put_scalar(bd_wire_writer *out, bd_summary_tag tag, float value);
void bd_summary_put_histogram(bd_wire_writer *out, bd_summary_tag tag, const bd_histogram *h);

// `png` is an image of `depth` bytes a pixel.
typedef struct bd_summary_image {
    int32_t height, width, depth;
    const void *png; // borrowed
    size_t png_len;
} bd_summary_image;
void bd_summary_put_image(bd_wire_writer *out, bd_summary_tag tag, const bd_summary_image *image);

// `wav` is a WAV file of samples at `rate` (Hz).
typedef struct bd_summary_audio {
    float rate;
    int64_t channels, frames;
    const void *wav; // borrowed
    size_t wav_len;
} bd_summary_audio;
void bd_summary_put_audio(bd_wire_writer *out, bd_summary_tag tag, const bd_summary_audio *audio);

// `metadata` is a SummaryMetadata message.
void bd_summary_put_tensor(bd_wire_writer *out, bd_summary_tag tag, const braid_tensor *t,
                           const void *metadata, size_t metadata_len);
// The value of the first form of tensor summaries, which bear the name of a node and no tag.
void bd_summary_put_node_tensor(bd_wire_writer *out, const char *node, const braid_tensor *t);

#endif
