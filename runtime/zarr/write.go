package zarr

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Options say how an array is cut into chunks, which are packed by zstd, and how these lie in files, the shards.
type Options struct {
	Chunk []int64      // extents of a chunk; nil: of whole rows, about 1 MiB
	Shard []int64      // extents of a shard, multiples of those; nil: up to 64 chunks along one axis
	Ended func() error // asked before each chunk: an error ends the writing; nil for none
}

const (
	defaultChunk = 1 << 20 // bytes
	defaultShard = 64      // chunks
)

// Write writes an array, or a group of named ones, to a folder. What is there is replaced when all is written: another
// array or group; anything else is an error.
func Write(path string, o Options, tensors ...tensorfile.NamedTensor) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := replaceable(path); err != nil {
		return err
	}
	next, err := folderBeside(path)
	if err != nil {
		return err
	}
	if err := writeAll(next, o, tensors); err != nil {
		return errors.Join(err, os.RemoveAll(next))
	}
	return putInPlace(next, path)
}

// replaceable is an error where path has something that is no array and no group.
func replaceable(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, metadata)); !info.IsDir() || err != nil {
		return &Error{Path: path, Reason: "it is there, and is no array and no group of Zarr version 3 to be replaced"}
	}
	return nil
}

func folderBeside(path string) (string, error) {
	for {
		name := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
		err := os.Mkdir(name, 0o777)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
}

// putInPlace renames a folder, and removes what was there before.
func putInPlace(next, path string) error {
	old := next + ".old"
	err := os.Rename(path, old)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if err = os.Rename(next, path); err == nil {
			return os.RemoveAll(old)
		}
		_ = os.Rename(old, path) // there may be none
	}
	return errors.Join(err, os.RemoveAll(next))
}

func writeAll(folder string, o Options, tensors []tensorfile.NamedTensor) error {
	if len(tensors) == 1 && tensors[0].Name == "" {
		return writeArray(folder, o, tensors[0].Tensor)
	}
	text := []byte(`{"zarr_format": 3, "node_type": "group", "attributes": {}}` + "\n")
	if err := os.WriteFile(filepath.Join(folder, metadata), text, 0o666); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, x := range tensors {
		if !goodName(x.Name) || seen[x.Name] {
			return fmt.Errorf("write zarr: the name %q is none of a folder, or stands twice", x.Name)
		}
		seen[x.Name] = true
		of := filepath.Join(folder, x.Name)
		if err := os.Mkdir(of, 0o777); err != nil {
			return err
		}
		if err := writeArray(of, o, x.Tensor); err != nil {
			return fmt.Errorf("array %q: %w", x.Name, err)
		}
	}
	return nil
}

// goodName reports whether an array of a group may have this name.
func goodName(name string) bool {
	return name != "" && name != metadata && strings.Trim(name, ".") != "" && !strings.HasPrefix(name, "__") &&
		!strings.ContainsAny(name, "/\\:\x00") && utf8.ValidString(name)
}

// writeArray writes into a folder that is there.
func writeArray(folder string, o Options, t *tensor.Tensor) error {
	if err := t.HostErr(); err != nil {
		return err
	}
	name := ""
	for s, d := range dtypes {
		if d == t.DType {
			name = s
		}
	}
	if name == "" {
		return fmt.Errorf("write zarr: unsupported dtype %v; convert to %v first", t.DType, t.DType.ComputesAs())
	}
	w := writer{folder: folder, ended: o.Ended, t: t, elem: int64(t.DType.Bytes())}
	if err := w.cut(o); err != nil {
		return fmt.Errorf("write zarr: %w", err)
	}
	text, err := w.describe(name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, metadata), append(text, '\n'), 0o666); err != nil {
		return err
	}
	return w.shards()
}

type writer struct {
	folder       string
	ended        func() error
	t            *tensor.Tensor
	elem         int64
	chunk, shard []int64
	plain        []byte // of a chunk
}

// cut chooses the extents of chunks and shards.
func (w *writer) cut(o Options) error {
	rank := len(w.t.Shape)
	w.chunk, w.shard = slices.Clone(o.Chunk), slices.Clone(o.Shard)
	along := 0 // the axis along which chunks are cut
	if w.chunk == nil {
		w.chunk = make([]int64, rank)
		size := w.elem
		for i, n := range slices.Backward(w.t.Shape) {
			w.chunk[i] = min(max(n, 1), max(defaultChunk/size, 1))
			size *= w.chunk[i]
		}
		along = max(slices.IndexFunc(w.chunk, func(n int64) bool { return n > 1 }), 0)
		if along > 0 && w.chunk[along] == w.t.Shape[along] {
			along-- // a chunk is whole rows, and has one number on the axes before them
		}
	}
	if err := checkChunk(w.chunk, rank); err != nil {
		return err
	}
	if w.shard == nil {
		w.shard = slices.Clone(w.chunk)
		if rank > 0 {
			chunks := (w.t.Shape[along] + w.chunk[along] - 1) / w.chunk[along]
			w.shard[along] *= max(min(chunks, defaultShard), 1)
		}
	}
	if err := checkChunk(w.shard, rank); err != nil {
		return err
	}
	for i, n := range w.chunk {
		if w.shard[i]%n != 0 {
			return fmt.Errorf("axis %d of the shards, %v, is no multiple of that of the chunks, %v", i, w.shard,
				w.chunk)
		}
	}
	bytes := count(w.chunk, mostChunk/w.elem)
	if bytes < 0 {
		return fmt.Errorf("a chunk of %v has more than %d bytes", types.Of(w.t.DType, w.chunk...), mostChunk)
	}
	w.plain = make([]byte, bytes*w.elem)
	return nil
}

// describe is zarr.json.
func (w *writer) describe(dtype string) ([]byte, error) {
	type object = map[string]any
	codec := func(name string, config object) object { return object{"name": name, "configuration": config} }
	little := codec("bytes", object{"endian": "little"})
	elements := little
	if w.elem == 1 {
		elements = object{"name": "bytes"}
	}
	list := func(x []int64) []int64 { return append([]int64{}, x...) }
	var fill any = 0
	if w.t.DType == types.Bool {
		fill = false
	} else if w.t.DType.IsFloat() {
		fill = json.RawMessage("0.0")
	}
	return json.MarshalIndent(struct {
		Format     int      `json:"zarr_format"`
		Node       string   `json:"node_type"`
		Shape      []int64  `json:"shape"`
		DType      string   `json:"data_type"`
		Grid       object   `json:"chunk_grid"`
		Keys       object   `json:"chunk_key_encoding"`
		Fill       any      `json:"fill_value"`
		Codecs     []object `json:"codecs"`
		Attributes object   `json:"attributes"`
	}{
		3, "array", list(w.t.Shape), dtype, codec("regular", object{"chunk_shape": list(w.shard)}),
		codec("default", object{"separator": "/"}), fill,
		[]object{codec("sharding_indexed", object{
			"chunk_shape":    list(w.chunk),
			"codecs":         []object{elements, codec("zstd", object{"level": 3, "checksum": false})},
			"index_codecs":   []object{little, {"name": "crc32c"}},
			"index_location": "end",
		})},
		object{},
	}, "", "  ")
}

// shards writes the files. One whose elements are all 0 is left out.
func (w *writer) shards() error {
	defer goruntime.KeepAlive(w.t)
	dense, err := w.t.Contiguous()
	if err != nil {
		return err
	}
	defer dense.Close()
	whole := block{data: dense.Raw(), elem: w.elem, shape: w.t.Shape, valid: w.t.Shape, strides: dense.Strides}
	a := array{separator: "/", prefixed: true}
	return odometer(grid(w.t.Shape, w.shard), func(index []int64) error {
		data, err := w.shardOf(whole.part(index, w.shard))
		if data == nil || err != nil {
			return err
		}
		path := filepath.Join(w.folder, filepath.FromSlash(a.key(index)))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o666)
	})
}

// shardOf is a shard as it is stored, nil where all its elements are 0.
func (w *writer) shardOf(from block) ([]byte, error) {
	var data, index []byte
	err := odometer(grid(w.shard, w.chunk), func(at []int64) error {
		if w.ended != nil {
			if err := w.ended(); err != nil {
				return err
			}
		}
		clear(w.plain)
		from.part(at, w.chunk).runs(func(array, chunk []byte) { copy(chunk, array) }, w.plain)
		begin := len(data)
		if slices.Max(w.plain) == 0 {
			index = binary.LittleEndian.AppendUint64(index, nowhere)
			index = binary.LittleEndian.AppendUint64(index, nowhere)
			return nil
		}
		(&chain{dtype: w.t.DType}).fix(w.plain, w.elem)
		data = tozstd().EncodeAll(w.plain, data)
		index = binary.LittleEndian.AppendUint64(index, uint64(begin))
		index = binary.LittleEndian.AppendUint64(index, uint64(len(data)-begin))
		return nil
	})
	if data == nil || err != nil {
		return nil, err
	}
	data = append(data, index...)
	return binary.LittleEndian.AppendUint32(data, crc32.Checksum(index, castagnoli)), nil
}
