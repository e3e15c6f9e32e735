// The message SavedModel: the MetaGraphDef of a saver, with its tag, signatures and main op added.
//
// Fields of a message may come in any order, and parts of one message that follow each other are one message.
// So the additions stand behind the MetaGraphDef that the saver writes.
#include "train/estimator/saved_model.h"
#include "base/alloc.h"
#include "base/wire.h"
#include "train/common/build.h"
#include "train/sessions/saver.h"
#include <braid/scaffold.h>
#include <string.h>

// Fields of SavedModel, MetaGraphDef, MetaInfoDef, SignatureDef, TensorInfo, TensorShapeProto, AssetFileDef,
// CollectionDef, its lists, and Any.
enum {
    MODEL_SCHEMA_VERSION = 1,
    MODEL_META_GRAPHS = 2,
    META_INFO = 1,
    META_COLLECTIONS = 4,
    META_SIGNATURES = 5,
    META_ASSETS = 6,
    INFO_TAGS = 4,
    INFO_TENSORFLOW_VERSION = 5,
    SIGNATURE_INPUTS = 1,
    SIGNATURE_OUTPUTS = 2,
    SIGNATURE_METHOD = 3,
    TENSOR_NAME = 1,
    TENSOR_DTYPE = 2,
    TENSOR_SHAPE = 3,
    SHAPE_DIM = 2,
    SHAPE_UNKNOWN_RANK = 3,
    ASSET_TENSOR = 1,
    ASSET_FILENAME = 2,
    COLLECTION_NODES = 1,
    COLLECTION_ANYS = 5,
    LIST_VALUE = 1,
    ANY_TYPE = 1,
    ANY_VALUE = 2,
    MAP_KEY = 1,
    MAP_VALUE = 2,
    SCHEMA_VERSION = 1
};
// The TensorFlow whose formats and ops the model has.
#define TENSORFLOW_VERSION "1.15.0"
#define MAIN_OP_COLLECTION "saved_model_main_op"
#define ASSETS_COLLECTION "saved_model_assets"
#define ASSET_TYPE "type.googleapis.com/tensorflow.AssetFileDef"

typedef struct part {
    bd_message message;
    bd_wire_writer writer;
} part;

static void begin(part *p)
{
    bd_message_init(&p->message);
    bd_wire_writer_init(&p->writer, &p->message);
}

static void end(part *p, bd_wire_writer *to, uint32_t field)
{
    bd_wire_writer_finish(&p->writer);
    bd_wire_put_message(to, field, &p->message);
    bd_message_fini(&p->message);
}

static void put_text(bd_wire_writer *w, uint32_t field, const char *text)
{
    bd_wire_put_bytes(w, field, text, strlen(text));
}

static char *name_of(braid_out out)
{
    return bd_asprintf("%s:%d", braid_op_name(out.op), out.index);
}

static void put_shape(bd_wire_writer *to, braid_shape shape)
{
    part p, dim;
    begin(&p);
    for (int i = 0; i < shape.rank; i++) {
        begin(&dim);
        bd_wire_put_uint(&dim.writer, 1, (uint64_t)shape.dims[i]);
        end(&dim, &p.writer, SHAPE_DIM);
    }
    if (shape.rank < 0) bd_wire_put_uint(&p.writer, SHAPE_UNKNOWN_RANK, 1);
    end(&p, to, TENSOR_SHAPE);
}

static void put_tensor(bd_wire_writer *to, uint32_t field, const char *key, braid_out out)
{
    part entry, info;
    char *name = name_of(out);
    begin(&entry);
    put_text(&entry.writer, MAP_KEY, key);
    begin(&info);
    put_text(&info.writer, TENSOR_NAME, name);
    bd_wire_put_uint(&info.writer, TENSOR_DTYPE, train_base_dtype(braid_out_dtype(out)));
    put_shape(&info.writer, braid_out_shape(out));
    end(&info, &entry.writer, MAP_VALUE);
    end(&entry, to, field);
    bd_free(name);
}

static void put_signature(bd_wire_writer *to, const train_signature *s)
{
    part entry, signature;
    begin(&entry);
    put_text(&entry.writer, MAP_KEY, s->key);
    begin(&signature);
    for (int i = 0; i < s->input_count; i++)
        put_tensor(&signature.writer, SIGNATURE_INPUTS, s->inputs[i].name, s->inputs[i].values);
    for (int i = 0; i < s->output_count; i++)
        put_tensor(&signature.writer, SIGNATURE_OUTPUTS, s->outputs[i].name, s->outputs[i].values);
    put_text(&signature.writer, SIGNATURE_METHOD, s->method);
    end(&signature, &entry.writer, MAP_VALUE);
    end(&entry, to, META_SIGNATURES);
}

static void put_info(bd_wire_writer *to)
{
    part info;
    begin(&info);
    put_text(&info.writer, INFO_TAGS, "serve");
    put_text(&info.writer, INFO_TENSORFLOW_VERSION, TENSORFLOW_VERSION);
    end(&info, to, META_INFO);
}

// ---- Collections ----

// An entry of the map of collections, whose value is one list.
typedef struct collection {
    part entry, value, list;
    uint32_t kind; // the field of the list
} collection;

static void begin_collection(collection *c, const char *name, uint32_t kind)
{
    c->kind = kind;
    begin(&c->entry);
    put_text(&c->entry.writer, MAP_KEY, name);
    begin(&c->value);
    begin(&c->list);
}

static void end_collection(collection *c, bd_wire_writer *to)
{
    end(&c->list, &c->value.writer, c->kind);
    end(&c->value, &c->entry.writer, MAP_VALUE);
    end(&c->entry, to, META_COLLECTIONS);
}

static void put_main_op(bd_wire_writer *to, const braid_op *op)
{
    collection c;
    begin_collection(&c, MAIN_OP_COLLECTION, COLLECTION_NODES);
    put_text(&c.list.writer, LIST_VALUE, braid_op_name(op));
    end_collection(&c, to);
}

// ---- Assets ----
//
// TensorFlow 1.x writes them as a collection, and its loaders look there. Other readers look at the field of
// the MetaGraphDef.

static void put_asset(bd_wire_writer *to, uint32_t field, const train_asset *asset)
{
    part def, tensor;
    char *name = name_of(asset->path);
    begin(&def);
    begin(&tensor);
    put_text(&tensor.writer, TENSOR_NAME, name);
    end(&tensor, &def.writer, ASSET_TENSOR);
    put_text(&def.writer, ASSET_FILENAME, asset->filename);
    end(&def, to, field);
    bd_free(name);
}

static void put_any_asset(bd_wire_writer *to, const train_asset *asset)
{
    part any;
    begin(&any);
    put_text(&any.writer, ANY_TYPE, ASSET_TYPE);
    put_asset(&any.writer, ANY_VALUE, asset);
    end(&any, to, LIST_VALUE);
}

static void put_asset_paths(bd_wire_writer *to, const train_assets *assets)
{
    collection c;
    begin_collection(&c, BRAID_ASSET_FILEPATHS, COLLECTION_NODES);
    for (size_t i = 0; i < assets->len; i++) {
        char *name = name_of(assets->items[i].path);
        put_text(&c.list.writer, LIST_VALUE, name);
        bd_free(name);
    }
    end_collection(&c, to);
}

static void put_assets(bd_wire_writer *to, const train_assets *assets)
{
    if (!assets || !assets->len) return;
    collection c;
    begin_collection(&c, ASSETS_COLLECTION, COLLECTION_ANYS);
    for (size_t i = 0; i < assets->len; i++)
        put_any_asset(&c.list.writer, &assets->items[i]);
    end_collection(&c, to);
    put_asset_paths(to, assets);
    for (size_t i = 0; i < assets->len; i++)
        put_asset(to, META_ASSETS, &assets->items[i]);
}

// ---- The whole ----

void *train_saved_model_write(const train_saved_model *model, size_t *len, braid_status *st)
{
    size_t graph_len;
    void *graph = train_meta_graph_write(model->saver, &graph_len, st);
    if (!graph) return NULL;
    part saved, meta;
    begin(&saved);
    bd_wire_put_uint(&saved.writer, MODEL_SCHEMA_VERSION, SCHEMA_VERSION);
    begin(&meta);
    bd_wire_put_raw(&meta.writer, graph, graph_len);
    bd_free(graph);
    put_info(&meta.writer);
    for (int i = 0; i < model->signature_count; i++)
        put_signature(&meta.writer, &model->signatures[i]);
    if (model->main_op) put_main_op(&meta.writer, model->main_op);
    put_assets(&meta.writer, model->assets);
    end(&meta, &saved.writer, MODEL_META_GRAPHS);
    bd_wire_writer_finish(&saved.writer);
    *len = saved.message.bytes;
    void *out = bd_malloc(*len);
    bd_message_gather(&saved.message, out);
    bd_message_fini(&saved.message);
    return out;
}
