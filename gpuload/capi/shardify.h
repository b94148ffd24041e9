// The C interface of gpuload and of conversions: what `_shardify.so` exports to Python's ctypes.
//
// Every function may be called from any thread, none of them needs Python's global lock,
// and none calls into Python. Texts are UTF-8. A text that a function returns is freed
// with shardify_free. A handle is never given twice: a stale one is an error.
//
// Structures that cross the border are JSON where they are rare and arrays of int64
// where they come with every batch.
#ifndef SHARDIFY_H
#define SHARDIFY_H

#include <stddef.h>
#include <stdint.h>

// The version of this interface. A program refuses a library of another.
#define SHARDIFY_ABI 14

// Results.
enum {
    SHARDIFY_OK = 0,
    SHARDIFY_END = 1,     // of the epoch; the next shardify_next begins another
    SHARDIFY_AGAIN = 2,   // nothing came in the time given; nothing is lost
    SHARDIFY_ERROR = -1,  // *error is a JSON object: kind, message, file, object, field, sample, offset, hints
    SHARDIFY_FORKED = -2, // this process was forked from one that had loaded the library: it has none of its threads
};

// What shardify_next writes: these, then SHARDIFY_EACH numbers for each tensor of
// info.tensors, in order. With a budget and info.group above 1 the rows of each step of the batch follow,
// room for info.group numbers.
enum {
    SHARDIFY_BATCH,    // handle
    SHARDIFY_LEASE,    // address of the lease, 0 unless lent
    SHARDIFY_EPOCH,    // of the batch
    SHARDIFY_INDEX,    // step of the epoch
    SHARDIFY_ROWS,     // samples; the rows behind them are padding
    SHARDIFY_FROM,     // global position where the step begins
    SHARDIFY_POSITION, // and where it ends: the position of the state behind it
    SHARDIFY_LENT,     // batches that are lent now, this one included
    SHARDIFY_STEPS,    // of the batch, 1 unless "group" is configured
    SHARDIFY_HEAD,
};
enum {
    SHARDIFY_ADDRESS, // where the delivered tensor lies; 0 if it has no bytes
    SHARDIFY_COUNT,   // its first dimension
    SHARDIFY_HOST,    // where a host's copy lies: of all tensors on the host, of offsets on every device; else 0
    SHARDIFY_EACH,
};

// shardify_open makes a Loader. config is the JSON of gpuload.Config and the paths
// (loader.go: config); indices and weights are arrays, NULL for none, that are copied. indices are of the type that "indices_type" says.
// info is JSON: what every batch has, steps, notes (loader.go: info).
int shardify_open(const char *config, size_t size, const void *indices, int64_t n_indices, const double *weights,
                  int64_t n_weights, uint64_t *loader, char **info, char **error);

// Streams are CUstreams: 0 and 1 are the default stream, 2 is that of the calling thread. A
// stream that a function was told must live as long as the batch, unless it leaves earlier.
#define SHARDIFY_NOBODY UINT64_MAX  // no stream waits for the batch yet
#define SHARDIFY_CALLER (UINT64_MAX - 1) // the call waits for the batch, so any stream may read it
#define SHARDIFY_UNKNOWN UINT64_MAX // somebody uses it on a stream that is not told

// shardify_next waits up to timeout_ms for the next batch and makes `stream` of the
// device wait for its data. step has room for SHARDIFY_HEAD + tensors * SHARDIFY_EACH, and as
// said there.
//
// lend = 0: the batch belongs to the caller until shardify_take or shardify_release.
// lend = 1: it is lent. Its lease counts those that hold it, the caller first; when the
// last one let go, a later shardify_next gives it back: its memory is written again after
// all that its streams have got to do by then.
int shardify_next(uint64_t loader, int64_t timeout_ms, uint64_t stream, int lend, int64_t *step, char **error);

// shardify_take copies the batch's tensors to addresses of the caller (0: not wanted) and gives the
// batch back. On a GPU the addresses are of its memory, and the copies are made in order of
// `stream`; elsewhere it has no meaning. bytes are the sizes that the caller has room for: any
// other than the tensor's is an error, but for the last batch of an epoch that has fewer
// steps than the others. Where to is SHARDIFY_DETACH, on the host, the tensor is not
// copied: its memory becomes the caller's, to becomes its address and bytes that of its
// lease, which the caller holds. Dropped by all, the memory is used for later batches.
enum { SHARDIFY_DETACH = -1 };
int shardify_take(uint64_t batch, uint64_t stream, int64_t *to, int64_t *bytes, int64_t n, char **error);

// shardify_fetch is shardify_next and shardify_take in one, where all sizes are known
// beforehand. to is the addresses and then the sizes, both for each tensor of info.tensors.
int shardify_fetch(uint64_t loader, int64_t timeout_ms, uint64_t stream, int64_t *step, int64_t *to, char **error);
// shardify_place fails if an address is not in the memory of the loader's GPU.
int shardify_place(uint64_t loader, uint64_t address, char **error);

// shardify_ids writes the numbers of the batch's samples, -1 for padding.
int shardify_ids(uint64_t batch, int64_t *ids, int64_t n, char **error);
// shardify_ids_at does so for a batch that is gone, by its place.
int shardify_ids_at(uint64_t loader, int64_t epoch, int64_t from, int64_t *ids, int64_t n, char **error);

// shardify_documents finds the documents of rows of `stored` tokens, of which a batch has the first `length`: those of row i
// have lens[offsets[i]] to lens[offsets[i + 1]] tokens. cu gets where each begins among the tokens of all rows, padding behind
// them as one more, and the number of tokens; positions, unless it is null, the place of each token in its document; mask, unless it is
// null, for each token `length` bytes: 1 for the tokens of its row that are of its document and not behind it. found is how many of cu
// there are, and the length of the longest.
int shardify_documents(const int32_t *lens, int64_t n, const int64_t *offsets, int64_t rows, int64_t stored, int64_t length,
                       int32_t *cu, int64_t room, int32_t *positions, uint8_t *mask, int64_t *found, char **error);

// shardify_ready makes another stream of the device wait for the batch's data.
int shardify_ready(uint64_t batch, uint64_t stream, char **error);
// shardify_use notes a stream that uses the batch and waits for its data by itself. leave = 1:
// the stream has got all that it has to do with the batch, and may be destroyed. With
// SHARDIFY_UNKNOWN the return of the batch waits for the device, unless a stream leaves
// later on.
int shardify_use(uint64_t batch, uint64_t stream, int leave, char **error);
// shardify_release gives a batch that is not lent back, behind its streams.
int shardify_release(uint64_t batch, char **error);
// shardify_settle gives a lent batch back now; SHARDIFY_AGAIN: somebody holds it, or a
// stream of it is being captured, and a later shardify_next does.
int shardify_settle(uint64_t batch, char **error);

// State as JSON: where the next batch begins, and going there.
int shardify_state(uint64_t loader, char **state, char **error);
int shardify_restore(uint64_t loader, const char *state, size_t size, char **error);

// shardify_batches says how many steps an epoch has from a position on, and with report = 1 what its batches by a budget hold, as JSON.
int shardify_batches(uint64_t loader, int64_t epoch, int64_t from, int report, char **batches, char **error);

// shardify_order gives an epoch its samples, with "per_epoch": n whole numbers of a type as NumPy writes it, i1 to u8, that are
// copied. answer is JSON (order.go: given).
int shardify_order(uint64_t loader, int64_t epoch, const void *list, int64_t n, const char *type, char **answer, char **error);

int shardify_stats(uint64_t loader, char **stats, char **error);
// shardify_close ends a Loader. Lent batches stay valid until they are let go.
int shardify_close(uint64_t loader, char **error);

// shardify_probe opens and measures a device: "host", "cuda:0". info is JSON.
int shardify_probe(const char *device, char **info, char **error);

// An image in the memory of a GPU, and the part of it that is shown; of address 0: zeros.
typedef struct {
    uint64_t address;
    uint32_t row, pixel, channel; // bytes from one to the next
    uint32_t width, height;
    float left, top, right, bottom;
    uint32_t mirrored;
} shardify_picture;

// shardify_pixels resizes a part of each of n images in the memory of a GPU ("cuda:0"), as Pillow's bilinear
// resize does to the bit, in order of `stream`: a launch for each 84. form is the address of the result,
// its width, height and channels (1 or 3), whether they are its last dimension, its type (0 u8, 1 f16, 2 bf16,
// 3 f32) and the number of scales (0, or one for each channel), which are in front of as many shifts.
int shardify_pixels(const char *device, uint64_t stream, const int64_t *form, const float *scales, const shardify_picture *pictures, int64_t n, char **error);

// shardify_dense makes dense rows of those of a sparse matrix in the memory of a GPU, in order of `stream`, as they are stored. form is
// the addresses of the result, of the values, of the numbers of columns, of where each row begins (int64, one more than rows), of the number
// that each stored column gets (int32, -1: none; address 0: they stay), and of a uint32, to which the rows are added whose columns are beyond the width
// or do not rise, and which stay zeros; then rows, values, stored columns, columns of the result, the bytes of a value, and the type of numbers of columns, as for
// shardify_sparse.
int shardify_dense(const char *device, uint64_t stream, const int64_t *form, char **error);

// shardify_decode makes pixels of n encoded images, JPEG or PNG: values[offsets[k]] to values[offsets[k + 1]] is
// that of sample ids[k], or padding if that is -1. form is JSON (images.Form of gpuload/internal/images); out has room
// for all of them. left is JSON: the rows that were not made, which are zeros, and why (images.Left), or null.
// moves is NULL, or has room for what is done to the places of each image, in the numbers that shardify_following names.
int shardify_decode(const char *form, size_t size, int64_t epoch, const uint8_t *values, int64_t bytes, const int64_t *offsets,
                    const int64_t *ids, int64_t n, uint8_t *out, int64_t room, double *moves, int64_t numbers, char **left, char **error);

// shardify_following says in JSON which fields follow the images of a form, and how many numbers the moves of an image are.
int shardify_following(const char *form, size_t size, char **text, char **error);

// shardify_follow makes masks, boxes and points of n samples follow what shardify_decode did to their images. columns has
// ten words for each field of the form, address and length of: values (bytes), offsets, offsets of the second level
// (numbers), marks of which samples have a value (bytes), and where the class numbers of masks go (bytes); 0: none. What
// changes is overwritten; lists become shorter. left is JSON: the masks that were not made, as of shardify_decode.
int shardify_follow(const char *form, size_t size, const int64_t *ids, int64_t n, const double *moves, int64_t numbers,
                    const int64_t *columns, int64_t words, char **left, char **error);

// shardify_sparse makes a matrix of rows of n values and as many numbers of columns: row i is offsets[i] to
// offsets[i + 1]. form is the types of values and of numbers (0 bool, 1 u8, 2 i8, 3 u16, 4 i16, 5 u32, 6 i32, 7 u64, 8 i64, 9
// f32, 10 f64), the number of columns that are stored and of those that the result has, the bits of the double that a row
// is to add up to (0: any), whether log(1+x) is taken, whether the result is dense, and whether its numbers are int64 and not int32.
// columns is the number that each stored column gets, -1: none; NULL: they stay. to is three addresses, and room
// the bytes there: values; unless it is dense numbers of columns, and where each row begins, one more than rows. With no
// addresses the rows are only checked. Values are as stored, but whole numbers that are computed with are f32.
// found is the elements of the result, the rows whose columns do not rise, and the row, element and value of the first number that
// is no column (row -1: none), and whether it is a uint64.
int shardify_sparse(const int64_t *form, const int32_t *columns, const void *values, const void *indices, int64_t n, const int64_t *offsets,
                    int64_t rows, void *const *to, const int64_t *room, int64_t *found, char **error);

// shardify_image_size writes the width and height of all images that a form makes, whatever they are made of; 0: there is
// none. An error says what is wrong with its operations.
int shardify_image_size(const char *form, size_t size, int64_t *to, char **error);

// shardify_file_size is the size of a file of a data set, which may be on another machine.
int shardify_file_size(const char *name, int64_t *bytes, char **error);
// shardify_describe opens a data set that others wrote: an MDS folder, or tars of WebDataset. about is JSON
// (dataset.Outline).
int shardify_describe(const char *path, char **about, char **error);

// shardify_file reads a file of that size, or some tensors of a shard, and checks them. wanted is
// JSON (files.go: wanted).
int shardify_file(const char *wanted, size_t size, void *to, int64_t bytes, char **error);

// shardify_convert begins a conversion in the background. settings is a JSON object: keys of a
// recipe, with words, numbers, true and false, or lists of them.
int shardify_convert(const char *settings, size_t size, uint64_t *conversion, char **error);
// shardify_convert_wait waits up to timeout_ms for the end. SHARDIFY_OK: it is complete, text is
// JSON (convert.go: converted). SHARDIFY_AGAIN: it goes on, text is JSON
// (pipeline.Progress), or null before anything is known. With an end or an error the handle is gone.
int shardify_convert_wait(uint64_t conversion, int64_t timeout_ms, char **text, char **error);
// shardify_convert_stop asks it to end soon; shardify_convert_wait then fails, and the same
// settings go on from there later.
int shardify_convert_stop(uint64_t conversion, char **error);

void shardify_free(void *p);
int shardify_abi(void);
// shardify_forked tells a child that it cannot use the library.
int shardify_forked(void);

// ---- DLPack. These never enter Go.

// A tensor without its address and first dimension.
typedef struct {
    int32_t device_type, device_id; // as in dlpack.h
    int32_t code, bits;
    int32_t ndim;      // 1 to 16
    int32_t read_only; // of the versioned form
    int64_t shape[16]; // shape[0] is not used
} shardify_tensor;

// shardify_view makes a DLManagedTensor (versioned: a DLManagedTensorVersioned) over memory
// of a lent batch. It holds the lease until its deleter is called, on whatever thread.
// NULL: no memory.
void *shardify_view(void *lease, const shardify_tensor *t, int64_t address, int64_t count, int versioned);
// shardify_unview calls the deleter of a view that nobody consumed.
void shardify_unview(void *view, int versioned);
void shardify_keep(void *lease); // one more holds it
void shardify_drop(void *lease); // one less
// shardify_capsule is the destructor for PyCapsules of views, after shardify_python got the
// addresses of PyCapsule_IsValid and PyCapsule_GetPointer.
void shardify_capsule(void *capsule);
void shardify_python(void *is_valid, void *get_pointer);

#endif
