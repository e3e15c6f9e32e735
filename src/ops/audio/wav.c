// Reads and writes WAV files. A file consists of RIFF, its size and WAVE; chunk `fmt `, its size and the
// format; other chunks; and chunk `data`, its size and the samples.
#include "ops/audio/wav.h"

#include "base/interrupt.h"
#include "io/little_endian.h"

#include <math.h>
#include <string.h>

#define HEADER 44

// ---- Writing ----

size_t bd_wav_size(int64_t frames, int64_t channels)
{
    if (channels < 1 || channels > UINT16_MAX || frames < 1) return 0;
    if (frames > (UINT32_MAX - HEADER) / BD_WAV_FRAME_BYTES(channels)) return 0;
    return HEADER + (size_t)(frames * BD_WAV_FRAME_BYTES(channels));
}

static int16_t sample_of(float x)
{
    const float scaled = roundf(x * 32768.0F);
    return (int16_t)(scaled > INT16_MAX   ? INT16_MAX
                     : scaled > INT16_MIN ? scaled
                                          : INT16_MIN); // NaN becomes the least value
}

void bd_wav_write(const float *samples, int64_t frames, int64_t channels, uint32_t rate, uint8_t *out)
{
    const uint32_t frame_bytes = (uint32_t)BD_WAV_FRAME_BYTES(channels);
    const uint32_t data_bytes = (uint32_t)frames * frame_bytes;
    memcpy(out, "RIFF", 4);
    bd_put_le32(out + 4, HEADER - 8 + data_bytes);
    memcpy(out + 8, "WAVEfmt ", 8);
    bd_put_le32(out + 16, 16);                           // size of this chunk
    bd_put_le32(out + 20, 1 | (uint32_t)channels << 16); // PCM
    bd_put_le32(out + 24, rate);
    bd_put_le32(out + 28, rate * frame_bytes);
    bd_put_le32(out + 32, frame_bytes | 16U << 16);
    memcpy(out + 36, "data", 4);
    bd_put_le32(out + 40, data_bytes);
    for (int64_t i = 0; i < frames * channels && !bd_interrupted_at(i); i++) {
        const uint16_t bits = (uint16_t)sample_of(samples[i]);
        out[HEADER + 2 * i] = (uint8_t)bits;
        out[HEADER + 2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

// ---- Reading ----

// The unread part of a file.
typedef struct rest {
    const uint8_t *data;
    size_t len;
} rest;

static braid_code take(rest *r, size_t len, const uint8_t **part, braid_status *st)
{
    if (len > r->len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Data too short when trying to read string: %zu bytes of %zu are left", r->len, len);
    *part = r->data;
    r->data += len;
    r->len -= len;
    return BRAID_OK;
}

static braid_code expect_text(rest *r, const char *text, braid_status *st)
{
    const uint8_t *found;
    braid_code code = take(r, 4, &found, st);
    if (code || memcmp(found, text, 4) == 0) return code;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Header mismatch: Expected %s but found %.4s", text,
                   (const char *)found);
}

static uint32_t get_le16(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

// Reads the format, which follows the size of its chunk.
static braid_code read_format(const uint8_t *f, bd_wav *wav, braid_status *st)
{
    const uint32_t format = get_le16(f), channels = get_le16(f + 2), second_bytes = bd_get_le32(f + 8),
                   frame_bytes = get_le16(f + 12), bits = get_le16(f + 14);
    wav->rate = bd_get_le32(f + 4);
    wav->channels = channels;
    if (format != 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Bad audio format for WAV: Expected 1 (PCM), but got %u",
                       format);
    if (channels < 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Bad number of channels for WAV: Expected at least 1, but got 0");
    if (bits != 16)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Can only read 16-bit WAV files, but received %u", bits);
    if (frame_bytes != BD_WAV_FRAME_BYTES(channels))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Bad bytes per sample in WAV header: Expected %u but got %u",
                       BD_WAV_FRAME_BYTES(channels), frame_bytes);
    if (second_bytes != frame_bytes * wav->rate)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Bad bytes per second in WAV header: Expected %u but got %u (sample_rate=%u, "
                       "bytes_per_sample=%u)",
                       frame_bytes * wav->rate, second_bytes, wav->rate, frame_bytes);
    return BRAID_OK;
}

static braid_code read_header(rest *r, bd_wav *wav, braid_status *st)
{
    const uint8_t *part;
    braid_code code = expect_text(r, "RIFF", st);
    if (!code) code = take(r, 4, &part, st); // the file's size, which is not checked
    if (!code) code = expect_text(r, "WAVE", st);
    if (!code) code = expect_text(r, "fmt ", st);
    if (!code) code = take(r, 4, &part, st);
    if (code) return code;
    const uint32_t size = bd_get_le32(part);
    if (size != 16 && size != 18)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Bad file size for WAV: Expected 16 or 18, but got %u",
                       size);
    code = take(r, size, &part, st);
    return code ? code : read_format(part, wav, st);
}

// Reads the next chunk after the format.
static braid_code read_part(rest *r, bd_wav *wav, braid_status *st)
{
    const uint8_t *head;
    braid_code code = take(r, 8, &head, st);
    if (code) return code;
    const uint32_t size = bd_get_le32(head + 4);
    if (size > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "WAV data chunk '%.4s' is too large: %u bytes, but the limit is %d",
                       (const char *)head, size, INT32_MAX);
    if (memcmp(head, "data", 4) != 0) { // the last chunk may be truncated
        const uint8_t *skipped;
        return take(r, size < r->len ? size : r->len, &skipped, st);
    }
    if (wav->data) return bd_fail(st, BRAID_INVALID_ARGUMENT, "More than one data chunk found in WAV");
    wav->frames = size / BD_WAV_FRAME_BYTES(wav->channels);
    return take(r, (size_t)(wav->frames * BD_WAV_FRAME_BYTES(wav->channels)), &wav->data, st);
}

braid_code bd_wav_read(const void *file, size_t len, bd_wav *wav, braid_status *st)
{
    rest r = {file, len};
    *wav = (bd_wav){0};
    braid_code code = read_header(&r, wav, st);
    while (!code && r.len > 0)
        code = read_part(&r, wav, st);
    if (code || wav->data) return code;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "No data chunk found in WAV");
}

float bd_wav_sample(const bd_wav *wav, int64_t frame, int64_t channel)
{
    const uint8_t *at = wav->data + frame * BD_WAV_FRAME_BYTES(wav->channels) + 2 * channel;
    return (float)(int16_t)get_le16(at) / 32768.0F;
}
