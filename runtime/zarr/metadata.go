package zarr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"healc/lang/types"
)

// dtypes are the names of element types, of which bfloat16 is an extension of the format.
var dtypes = map[string]types.DType{
	"bool": types.Bool,
	"int8": types.I8, "int16": types.I16, "int32": types.I32, "int64": types.I64,
	"uint8": types.U8, "uint16": types.U16, "uint32": types.U32, "uint64": types.U64,
	"float16": types.F16, "bfloat16": types.BF16, "float32": types.F32, "float64": types.F64,
}

// array is what zarr.json says of an array.
type array struct {
	dtype     types.DType
	shape     []int64
	chunk     []int64
	fill      uint64 // bits
	codecs    *chain
	separator string
	prefixed  bool // c/0/1, not 0/1
}

// key is the path of a chunk within the folder of its array.
func (a *array) key(index []int64) string {
	var parts []string
	if a.prefixed {
		parts = []string{"c"}
	}
	for _, i := range index {
		parts = append(parts, strconv.FormatInt(i, 10))
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, a.separator)
}

// fields reads an object that has no other members than those that are known.
func fields(text []byte, known map[string]any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name, raw := range all {
		to, ok := known[name]
		if !ok {
			var ext struct {
				Must *bool `json:"must_understand"`
			}
			if json.Unmarshal(raw, &ext) == nil && ext.Must != nil && !*ext.Must {
				continue
			}
			return fmt.Errorf("unsupported: there is a %q, which this version does not know", name)
		}
		if to == nil || string(raw) == "null" {
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// named is an extension with its name and its options. It is written as a name alone where it has none.
type named struct {
	name   string
	config json.RawMessage
}

func (n *named) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &n.name); err == nil {
		return nil
	}
	var must bool
	return fields(text, map[string]any{"name": &n.name, "configuration": &n.config, "must_understand": &must})
}

// options reads the configuration, which may be left out.
func (n *named) options(known map[string]any) error {
	if len(n.config) == 0 {
		return nil
	}
	if err := fields(n.config, known); err != nil {
		return fmt.Errorf("%s: %w", n.name, err)
	}
	return nil
}

// parseArray reads the zarr.json of an array; nil is that of a group.
func parseArray(text []byte) (*array, error) {
	var (
		format         int
		node           string
		shape          []int64
		dtype          named
		grid, keys     named
		fill           json.RawMessage
		codecs, stores []named
		names          []*string
	)
	if err := fields(text, map[string]any{
		"zarr_format": &format, "node_type": &node, "shape": &shape, "data_type": &dtype, "chunk_grid": &grid,
		"chunk_key_encoding": &keys, "fill_value": &fill, "codecs": &codecs, "storage_transformers": &stores,
		"dimension_names": &names, "attributes": nil, "consolidated_metadata": nil,
	}); err != nil {
		return nil, err
	}
	switch {
	case format != 3:
		return nil, fmt.Errorf("unsupported: it is of version %d of Zarr, not of 3", format)
	case node == "group":
		return nil, nil
	case node != "array":
		return nil, fmt.Errorf("the node_type is %q, neither array nor group", node)
	case len(stores) > 0:
		return nil, fmt.Errorf("unsupported: the storage transformer %q", stores[0].name)
	}
	a := &array{shape: shape, separator: "/", prefixed: true}
	var ok bool
	if a.dtype, ok = dtypes[dtype.name]; !ok || len(dtype.config) > 0 {
		return nil, fmt.Errorf("unsupported: the data_type %q", dtype.name)
	}
	if a.shape == nil {
		return nil, fmt.Errorf("there is no shape")
	}
	for _, n := range a.shape {
		if n < 0 || n > types.MaxExtent {
			return nil, fmt.Errorf("the extent %d of the shape is not in [0, 2^31)", n)
		}
	}
	if grid.name != "regular" {
		return nil, fmt.Errorf("unsupported: the chunk_grid %q", grid.name)
	}
	if err := grid.options(map[string]any{"chunk_shape": &a.chunk}); err != nil {
		return nil, err
	}
	if err := checkChunk(a.chunk, len(a.shape)); err != nil {
		return nil, err
	}
	switch keys.name {
	case "default":
	case "v2":
		a.separator, a.prefixed = ".", false
	default:
		return nil, fmt.Errorf("unsupported: the chunk_key_encoding %q", keys.name)
	}
	if err := keys.options(map[string]any{"separator": &a.separator}); err != nil {
		return nil, err
	}
	if a.separator != "/" && a.separator != "." {
		return nil, fmt.Errorf("the separator is %q, neither a slash nor a dot", a.separator)
	}
	var err error
	if a.fill, err = fillBits(a.dtype, fill); err != nil {
		return nil, err
	}
	a.codecs, err = parseChain(codecs, a.dtype, a.chunk, 0)
	return a, err
}

func checkChunk(chunk []int64, rank int) error {
	if len(chunk) != rank {
		return fmt.Errorf("the chunk_shape %v has %d axes, and the array %d", chunk, len(chunk), rank)
	}
	for _, n := range chunk {
		if n < 1 || n > types.MaxExtent {
			return fmt.Errorf("the extent %d of the chunk_shape is not in [1, 2^31)", n)
		}
	}
	return nil
}

// parseChain reads the codecs of chunks of a shape.
func parseChain(codecs []named, dtype types.DType, shape []int64, depth int) (*chain, error) {
	const deepest = 4
	if depth > deepest {
		return nil, fmt.Errorf("unsupported: shards in shards, more than %d deep", deepest)
	}
	c := &chain{dtype: dtype}
	elements := true // it is elements that the next codec gets, and not bytes
	for _, codec := range codecs {
		var err error
		switch codec.name {
		case "transpose":
			err = c.transpose(&codec, len(shape), elements)
			if err == nil {
				shape = permute(shape, c.order)
			}
		case "bytes":
			endian := ""
			err = codec.options(map[string]any{"endian": &endian})
			c.big = endian == "big"
			known := endian == "big" || endian == "little" || endian == "" && dtype.Bytes() == 1
			if err == nil && !known {
				err = fmt.Errorf("bytes: the endian of %v is %q", dtype, endian)
			}
		case "sharding_indexed":
			c.shard, err = parseShard(&codec, dtype, shape, depth)
		case "zstd", "gzip":
			var level json.Number
			err = codec.options(map[string]any{"level": &level, "checksum": nil})
			c.packed = append(c.packed, codec.name)
		case "crc32c":
			c.packed = append(c.packed, codec.name)
		default:
			err = fmt.Errorf("unsupported: the codec %q", codec.name)
		}
		if err != nil {
			return nil, err
		}
		toBytes := codec.name == "bytes" || codec.name == "sharding_indexed"
		if elements != (toBytes || codec.name == "transpose") {
			return nil, fmt.Errorf("the codec %q stands in the wrong place", codec.name)
		}
		elements = elements && !toBytes
	}
	if elements {
		return nil, fmt.Errorf("no codec makes bytes of the elements")
	}
	if c.shard == nil && count(shape, mostChunk/int64(dtype.Bytes())) < 0 {
		return nil, fmt.Errorf("unsupported: a chunk of %s has more than %d bytes", types.Of(dtype, shape...),
			mostChunk)
	}
	return c, nil
}

func (c *chain) transpose(codec *named, rank int, elements bool) error {
	if !elements || c.order != nil {
		return fmt.Errorf("unsupported: the codec \"transpose\" there")
	}
	if err := codec.options(map[string]any{"order": &c.order}); err != nil {
		return err
	}
	seen := make([]bool, rank)
	for _, axis := range c.order {
		if axis < 0 || axis >= rank || seen[axis] {
			return fmt.Errorf("transpose: %v is no order of %d axes", c.order, rank)
		}
		seen[axis] = true
	}
	if len(c.order) != rank {
		return fmt.Errorf("transpose: %v is no order of %d axes", c.order, rank)
	}
	return nil
}

func parseShard(codec *named, dtype types.DType, shape []int64, depth int) (*shard, error) {
	s := &shard{}
	var inner, index []named
	location := "end"
	if err := codec.options(map[string]any{"chunk_shape": &s.chunk, "codecs": &inner, "index_codecs": &index,
		"index_location": &location}); err != nil {
		return nil, err
	}
	if err := checkChunk(s.chunk, len(shape)); err != nil {
		return nil, fmt.Errorf("sharding_indexed: %w", err)
	}
	for i, n := range s.chunk {
		if shape[i]%n != 0 {
			return nil, fmt.Errorf("sharding_indexed: axis %d of %v is no multiple of that of %v", i, shape, s.chunk)
		}
	}
	if location != "start" && location != "end" {
		return nil, fmt.Errorf("sharding_indexed: the index_location is %q, neither start nor end", location)
	}
	s.first = location == "start"
	var err error
	if s.inner, err = parseChain(inner, dtype, s.chunk, depth+1); err != nil {
		return nil, fmt.Errorf("sharding_indexed: %w", err)
	}
	if s.index, err = parseChain(index, types.U64, []int64{1, 2}, depth+1); err != nil {
		return nil, fmt.Errorf("sharding_indexed: the index: %w", err)
	}
	if s.index.order != nil || s.index.shard != nil || slices.ContainsFunc(s.index.packed, func(codec string) bool {
		return codec != "crc32c"
	}) {
		return nil, fmt.Errorf("unsupported: sharding_indexed: the codecs of the index are others than bytes " +
			"and crc32c")
	}
	return s, nil
}

// fillBits are the bits of the element that stands where no chunk is.
func fillBits(dtype types.DType, text json.RawMessage) (uint64, error) {
	fail := func() (uint64, error) {
		return 0, fmt.Errorf("the fill_value %s is no %v", bytes.TrimSpace(text), dtype)
	}
	var s string
	switch {
	case len(text) == 0:
		return 0, fmt.Errorf("there is no fill_value")
	case dtype == types.Bool:
		var x bool
		if json.Unmarshal(text, &x) != nil {
			return fail()
		}
		if x {
			return 1, nil
		}
		return 0, nil
	case dtype.IsInt():
		return intBits(dtype, string(text), fail)
	case json.Unmarshal(text, &s) == nil:
		switch s {
		case "NaN":
			return floatBits(dtype, math.NaN()), nil
		case "Infinity":
			return floatBits(dtype, math.Inf(1)), nil
		case "-Infinity":
			return floatBits(dtype, math.Inf(-1)), nil
		}
		hex, ok := strings.CutPrefix(s, "0x")
		bits, err := strconv.ParseUint(hex, 16, dtype.Bits())
		if !ok || err != nil {
			return fail()
		}
		return bits, nil
	}
	var x float64
	if json.Unmarshal(text, &x) != nil {
		return fail()
	}
	return floatBits(dtype, x), nil
}

func intBits(dtype types.DType, text string, fail func() (uint64, error)) (uint64, error) {
	r, ok := new(big.Float).SetPrec(128).SetString(text) // 1e3 and 5.0, too
	if !ok || !r.IsInt() {
		return fail()
	}
	x, _ := r.Int(nil)
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(dtype.Bits()))
	if !dtype.IsUnsigned() {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	if x.Cmp(low) < 0 || x.Cmp(high) >= 0 {
		return fail()
	}
	if x.Sign() < 0 {
		return uint64(x.Int64()), nil
	}
	return x.Uint64(), nil
}

func floatBits(dtype types.DType, x float64) uint64 {
	switch dtype {
	case types.F16:
		return uint64(types.F16Bits(float32(x)))
	case types.BF16:
		return uint64(types.BF16Bits(float32(x)))
	case types.F32:
		return uint64(math.Float32bits(float32(x)))
	}
	return math.Float64bits(x)
}
