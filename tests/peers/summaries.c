// Writes an event of each kind, for tests with TensorFlow and TensorBoard:
//     summaries DIR
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>

// One summary of a scalar, a histogram, an image, a sound and a text, under the scope "model".
static braid_out build_summaries(braid_graph *g)
{
    const float grey[] = {0, 0.25F, 0.5F, 1}, wave[] = {0, 0.5F, -0.5F, 1, -1, 0.25F, 0, 0};
    braid_tensor *image = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(1, 2, 2, 1), grey, NULL);
    braid_tensor *sound = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(1, 8, 1), wave, NULL);
    braid_tensor *numbers = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(8), wave, NULL);
    (void)braid_push_name_scope(g, "model");
    braid_summary_scalar(g, "loss", braid_const_float(g, NULL, 0.25F));
    braid_summary_histogram(g, "weights", braid_const(g, NULL, numbers));
    braid_summary_image(g, "digit", braid_const(g, NULL, image), 1);
    braid_summary_audio(g, "sound", braid_const(g, NULL, sound), 8000, 1);
    braid_summary_text(g, "words", braid_const_string(g, NULL, "some *words*"));
    braid_pop_name_scope(g);
    braid_tensor_free(image);
    braid_tensor_free(sound);
    braid_tensor_free(numbers);
    return braid_summary_merge_all(g);
}

static void write_events(braid_event_writer *w, braid_graph *g, braid_status *st)
{
    const braid_out summary = build_summaries(g);
    braid_session *s = braid_session_open(g, NULL, st);
    if (!s) return;
    braid_tensor *value = NULL;
    braid_run_metadata *record = braid_run_metadata_new();
    const braid_run_args args = {
        .fetches = &(braid_fetch){summary, &value}, .fetch_count = 1, .metadata = record};
    size_t len = 0, graph_len = 0;
    if (!braid_session_run(s, &args, st)) {
        void *graph_def = braid_graph_export(g, &graph_len, st);
        const char *bytes = braid_tensor_string_at(value, 0, &len);
        braid_event_writer_add_graph(w, graph_def, graph_len, 0, st);
        braid_event_writer_add_session_log(w, BRAID_SESSION_LOG_START, NULL, 0, st);
        braid_event_writer_add_summary(w, bytes, len, 7, st);
        braid_event_writer_add_run_metadata(w, record, "step_7", 7, st);
        free(graph_def);
    }
    braid_tensor_free(value);
    braid_run_metadata_free(record);
    braid_session_close(s, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    braid_status *st = braid_status_new();
    braid_graph *g = braid_graph_new();
    braid_event_writer *w = braid_event_writer_open(argv[1], st);
    if (w) write_events(w, g, st);
    if (!braid_status_code(st)) braid_event_writer_close(w, st);
    braid_graph_free(g);
    const int rc = braid_status_code(st);
    if (rc) fprintf(stderr, "%s\n", braid_status_message(st));
    braid_status_free(st);
    return rc;
}
