package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"healc/internal/regular"
	"healc/lang/types"
)

// maxFile is the largest file that is read.
const maxFile = 4 << 30

// ReadFile reads a transcript. A file that cannot be opened gives the error of os.ReadFile, any other trouble is an
// *Error.
func ReadFile(path string) (*Transcript, error) {
	data, err := regular.Read(path, maxFile)
	var large *regular.LargeError
	if errors.As(err, &large) {
		return nil, &Error{Path: path, Entry: -1, Msg: fmt.Sprintf("it is larger than %d MiB, the most that is read",
			large.Limit>>20), Err: err}
	}
	if err != nil {
		return nil, err
	}
	return Read(path, data)
}

// Read decodes a transcript; path is for messages. The errors are of type *Error.
func Read(path string, data []byte) (*Transcript, error) {
	t := &Transcript{Path: path}
	if err := t.read(data); err != nil {
		t.Close()
		var e *Error
		if !errors.As(err, &e) {
			e = &Error{Entry: -1, Msg: err.Error(), Err: err}
		}
		e.Path = path
		return nil, e
	}
	return t, nil
}

func (t *Transcript) read(data []byte) error {
	if !utf8.Valid(data) {
		return errorf("the file is not UTF-8, so it is no JSON")
	}
	// Validates the whole file once, and refuses nesting deeper than 10000.
	top, err := object(data, "the transcript", "ExecutionTranscript")
	if err != nil {
		return err
	}
	var list []json.RawMessage
	if err := decode(top["transcript"], &list, "`transcript`", "a list"); err != nil {
		return err
	}
	for i, raw := range list {
		e, err := readEntry(raw)
		if e.Op != nil || err == nil {
			t.Entries = append(t.Entries, e)
		}
		if err != nil {
			var known *Error
			if !errors.As(err, &known) {
				return err
			}
			known.Entry = i
			if e.Op != nil {
				known.Op = e.Op.Name
			}
			return known
		}
	}
	return nil
}

// fields are the members of an object of JSON.
type fields map[string]json.RawMessage

// object reads an object of a `__type__`. Members that the format does not know are left alone: writers add
// notes of their own.
func object(raw json.RawMessage, what, kind string) (fields, error) {
	var f fields
	if err := decode(raw, &f, what, "an object"); err != nil {
		return nil, err
	}
	var got string
	if err := decode(f["__type__"], &got, "the `__type__` of "+what, "a string"); err != nil {
		return nil, err
	}
	if got != kind {
		return nil, errorf("%s is a %q, not %q", what, clip(got), kind)
	}
	return f, nil
}

// decode reads a value of a known kind into out.
func decode(raw json.RawMessage, out any, what, kind string) error {
	if raw == nil {
		return errorf("%s is missing", what)
	}
	if isNull(raw) {
		return errorf("%s is null, not %s", what, kind)
	}
	err := json.Unmarshal(raw, out)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return errorf("%s is not %s", what, kind)
	case err != nil:
		return errorf("%s: %w", what, err)
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// clip shortens a text of the file for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func readEntry(raw json.RawMessage) (Entry, error) {
	var pair []json.RawMessage
	if err := decode(raw, &pair, "the entry", "a list"); err != nil {
		return Entry{}, err
	}
	if len(pair) != 2 {
		return Entry{}, errorf("an entry is a list of an operation type and a payload, and not of %d values", len(pair))
	}
	payload := pair[1]
	if isNull(pair[0]) {
		return Entry{Kind: NoOp}, nil
	}
	kind, err := enum(pair[0], "the operation type", "ExecutionTranscriptOpType")
	if err != nil {
		return Entry{}, err
	}
	switch kind {
	case "SEGMENT_START":
		e := Entry{Kind: SegmentStart}
		if !isNull(payload) {
			err = decode(payload, &e.Segment, "the name of a segment", "a string")
		}
		return e, err
	case "SEGMENT_END":
		return Entry{Kind: SegmentEnd}, nil
	case "FREE_DEVICE_TENSOR":
		f, err := object(payload, "the payload", "FreeDeviceTensor")
		if err != nil {
			return Entry{}, err
		}
		name, err := readName(f["tensor_name"], "`tensor_name`")
		return Entry{Kind: Free, Freed: name}, err
	case "DEVICE_OP":
		op, err := readOp(payload)
		return Entry{Kind: DeviceOp, Op: op}, err
	}
	return Entry{},
		errorf("unknown operation type %q; there are SEGMENT_START, SEGMENT_END, DEVICE_OP and FREE_DEVICE_TENSOR",
			clip(kind))
}

// enum reads `{"__type__": kind, "value": ...}`.
func enum(raw json.RawMessage, what, kind string) (string, error) {
	f, err := object(raw, what, kind)
	if err != nil {
		return "", err
	}
	var s string
	err = decode(f["value"], &s, "the value of "+what, "a string")
	return s, err
}

// readOp also returns an operation with an error, for its name.
func readOp(raw json.RawMessage) (*Op, error) {
	op := &Op{}
	f, err := object(raw, "the payload", "DeviceOp")
	if err != nil {
		return nil, err
	}
	if err := decode(f["name"], &op.Name, "the name of the operation", "a string"); err != nil {
		return nil, err
	}
	op.Name = clip(op.Name)
	var args []json.RawMessage
	if err := decode(f["args"], &args, "`args`", "a list"); err != nil {
		return op, err
	}
	for i, raw := range args {
		a, err := readArg(raw, "argument "+strconv.Itoa(i), true)
		if err != nil {
			return op, err
		}
		op.Args = append(op.Args, a)
	}
	if f["out"] == nil {
		return op, errorf("`out` is missing")
	}
	if !isNull(f["out"]) {
		op.Out, err = readArg(f["out"], "the out", true)
	}
	return op, err
}

// readArg reads a DeviceOpArg. A SHAPE holds no other SHAPE, which bounds the recursion.
func readArg(raw json.RawMessage, what string, outer bool) (Arg, error) {
	f, err := object(raw, what, "DeviceOpArg")
	if err != nil {
		return Arg{}, err
	}
	name, err := enum(f["arg_type"], "the kind of "+what, "DeviceOpArgType")
	if err != nil {
		return Arg{}, err
	}
	kind, ok := argKinds[name]
	if !ok {
		return Arg{}, errorf("%s is of the unknown kind %q", what, clip(name))
	}
	a, v := Arg{Kind: kind}, f["value"]
	if !outer && kind != Int && kind != Slice && kind != Ellipsis {
		return a, errorf("%s is a %s; a SHAPE holds INT, SLICE and ELLIPSIS", what, kind)
	}
	switch kind {
	case DeviceTensor:
		err = a.readPointer(v, what)
	case HostTensor:
		a.Tensor, err = readHostTensor(v, what)
	case Shape:
		var list []json.RawMessage
		if err := decode(v, &list, what, "a list"); err != nil {
			return a, err
		}
		if len(list) > maxRank+1 { // an index may have an ellipsis beside its axes
			return a, errorf("%s has %d elements, and a tensor has at most %d axes", what, len(list), maxRank)
		}
		for i, raw := range list {
			x, err := readArg(raw, "element "+strconv.Itoa(i)+" of "+what, false)
			if err != nil {
				return a, err
			}
			a.List = append(a.List, x)
		}
	case Int:
		a.Number, err = readNumber(v, what)
	case TensorType:
		var s string
		if s, err = enum(v, what, "dtype"); err == nil {
			a.DType, err = readDType(s, what)
		}
	case Slice:
		err = a.readSlice(v, what)
	}
	return a, err
}

func (a *Arg) readPointer(raw json.RawMessage, what string) error {
	f, err := object(raw, what, "DeviceTensorPointer")
	if err != nil {
		return err
	}
	if a.Name, err = readName(f["inf_name"], "the name of "+what); err != nil {
		return err
	}
	if f["dtype"] == nil || isNull(f["dtype"]) {
		return nil
	}
	var s string
	if err := decode(f["dtype"], &s, "the dtype of "+what, "a string"); err != nil {
		return err
	}
	a.DType, err = readDType(s, what)
	return err
}

func (a *Arg) readSlice(raw json.RawMessage, what string) error {
	f, err := object(raw, what, "slice")
	if err != nil {
		return err
	}
	for name, to := range map[string]**int64{"start": &a.Slice.Start, "stop": &a.Slice.Stop, "step": &a.Slice.Step} {
		if f[name] == nil {
			return errorf("the %s of %s is missing", name, what)
		}
		if isNull(f[name]) {
			continue
		}
		var n int64
		if err := decode(f[name], &n, "the "+name+" of "+what, "an integer of 64 bits"); err != nil {
			return err
		}
		*to = &n
	}
	return nil
}

func readName(raw json.RawMessage, what string) (Name, error) {
	var v any
	if err := decode(raw, &v, what, "a string or an integer"); err != nil {
		return Name{}, err
	}
	if s, ok := v.(string); ok {
		return Name{Text: s}, nil
	}
	var n int64
	if _, ok := v.(float64); !ok || json.Unmarshal(raw, &n) != nil {
		return Name{}, errorf("%s is neither a string nor an integer of 64 bits", what)
	}
	return Name{Text: strconv.FormatInt(n, 10), Integer: true}, nil
}

func readNumber(raw json.RawMessage, what string) (Number, error) {
	switch string(raw) {
	case "true":
		return Number{Int: 1}, nil
	case "false":
		return Number{}, nil
	}
	var n json.Number
	if len(raw) > 0 && raw[0] == '"' { // json.Number takes a string, too
		return Number{}, errorf("%s is not a number or a boolean", what)
	}
	if err := decode(raw, &n, what, "a number or a boolean"); err != nil {
		return Number{}, err
	}
	if !strings.ContainsAny(string(n), ".eE") {
		i, err := strconv.ParseInt(string(n), 10, 64)
		if err != nil {
			return Number{}, errorf("%s, %s, is not an integer of 64 bits", what, clip(string(n)))
		}
		return Number{Int: i}, nil
	}
	x, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return Number{}, errorf("%s, %s, is out of the range of f64", what, clip(string(n)))
	}
	return Number{Float: x, IsFloat: true}, nil
}

// dtypes are the element types by the names that torch gives them.
var dtypes = map[string]types.DType{
	"bool": types.Bool, "int8": types.I8, "int16": types.I16, "int32": types.I32, "int64": types.I64, "uint8": types.U8,
	"uint16": types.U16, "uint32": types.U32, "uint64": types.U64, "float16": types.F16, "float32": types.F32,
	"float64": types.F64,
	"short":   types.I16, "int": types.I32, "long": types.I64, "half": types.F16, "float": types.F32,
	"double": types.F64,
}

func readDType(s, what string) (types.DType, error) {
	d, ok := dtypes[strings.TrimPrefix(s, "torch.")]
	if !ok {
		return types.Invalid, errorf("%s has the unknown dtype %q", what, clip(s))
	}
	return d, nil
}
