package tensorfile

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"healc/internal/regular"
	"healc/runtime/tensor"
)

// Npz is an open .npz archive: a zip file of .npy files. Arrays are read when they are asked for.
type Npz struct {
	path string
	zip  *zip.Reader
	file *os.File // nil when the archive is a reader of the caller
}

// OpenNpz opens a .npz file. A file that cannot be opened gives the error of os.Open, one that is no archive an
// *NpyError.
func OpenNpz(path string) (*Npz, error) {
	var z *Npz
	f, err := openArchive(path, func(f *os.File, size int64) (err error) {
		z, err = ReadNpz(f, size)
		return withPath(err, path)
	})
	if err != nil {
		return nil, err
	}
	z.path, z.file = path, f
	return z, nil
}

// openArchive opens a file of several arrays and reads what it says of them; it is closed where that fails.
func openArchive(path string, read func(f *os.File, size int64) error) (*os.File, error) {
	f, info, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	if err := read(f, info.Size()); err != nil { // one that is no file has no bytes
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadNpz reads the directory of an archive of size bytes. The errors are *NpyError.
func ReadNpz(r io.ReaderAt, size int64) (*Npz, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, &NpyError{Reason: "no .npz archive", Err: err}
	}
	return &Npz{zip: z}, nil
}

// Close closes the file; the tensors that were read stay.
func (z *Npz) Close() error {
	if z.file == nil {
		return nil
	}
	return z.file.Close()
}

// Names lists the arrays in the order of the archive, without the .npy of their file names.
func (z *Npz) Names() []string {
	var out []string
	for _, f := range z.zip.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok {
			out = append(out, name)
		}
	}
	return out
}

// maxDeflate is the most bytes that one byte of a deflate stream can stand for.
const maxDeflate = 1032

// Read reads the array of a name, which may end in .npy or not. The array's declared size must agree with the
// archive's directory, and that with what the compressed bytes can hold, before any memory is taken; so a
// small file cannot ask for much of it.
func (z *Npz) Read(name string) (*tensor.Tensor, error) { return z.read(name, false) }

// ReadColumnMajor is Read for a tensor in column-major order, which an array in C order is brought into as it is read.
func (z *Npz) ReadColumnMajor(name string) (*tensor.Tensor, error) {
	t, err := z.read(name, true)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.ColumnMajor()
}

func (z *Npz) read(name string, columns bool) (*tensor.Tensor, error) {
	path := z.path + ":" + name
	if z.path == "" {
		path = "npz data:" + name
	}
	var f *zip.File
	for _, g := range z.zip.File {
		if g.Name != name+".npy" && g.Name != name {
			continue
		}
		if f != nil {
			return nil, &NpyError{Path: path, Reason: "the archive has two arrays of this name"}
		}
		f = g
	}
	if f == nil {
		return nil, &NpyError{Path: path, Reason: fmt.Sprintf("the archive has no array %q; it has %s", name,
			quoted(z.Names()))}
	}
	limit := f.CompressedSize64
	switch f.Method {
	case zip.Store:
	case zip.Deflate:
		limit = min(limit, 1<<50)*maxDeflate + 64
	default:
		return nil,
			&NpyError{Path: path,
				Reason: fmt.Sprintf("unsupported compression method %d; stored and deflated arrays are supported",
					f.Method)}
	}
	if f.UncompressedSize64 > limit || f.UncompressedSize64 > math.MaxInt64 {
		return nil,
			&NpyError{Path: path,
				Reason: fmt.Sprintf("the directory declares %d bytes, %d compressed ones cannot hold that",
					f.UncompressedSize64, f.CompressedSize64)}
	}
	r, err := f.Open()
	if err != nil {
		return nil, &NpyError{Path: path, Reason: "cannot open the array", Err: err}
	}
	defer r.Close()
	t, err := readNpy(r, path, int64(f.UncompressedSize64), npyWants{whole: true, columns: columns})
	if err != nil {
		return nil, err
	}
	// The checksum is compared when the stream ends.
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Close()
		return nil, &NpyError{Path: path, Offset: int64(f.UncompressedSize64), Reason: "after the array", Err: err}
	}
	return t, nil
}

// quoted lists a few names for a message.
func quoted(names []string) string {
	const most = 8
	if len(names) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, n := range names {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(names)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	return b.String()
}

// NamedTensor is a tensor with its name in a file of several.
type NamedTensor struct {
	Name   string
	Tensor *tensor.Tensor
}

// WriteNpz writes an archive of the entries, in their order; compress chooses deflate over plain storage. The same
// entries give the same bytes.
func WriteNpz(w io.Writer, compress bool, entries ...NamedTensor) error {
	seen := map[string]bool{}
	z := zip.NewWriter(w)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name, ".npy")
		if name == "" || seen[name] {
			return fmt.Errorf("write npz: the name %q is empty or stands twice", e.Name)
		}
		seen[name] = true
		method := zip.Store
		if compress {
			method = zip.Deflate
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err != nil {
			return fmt.Errorf("write npz: %w", err)
		}
		if err := WriteNpy(f, e.Tensor); err != nil {
			return fmt.Errorf("write npz: array %q: %w", e.Name, err)
		}
	}
	return z.Close()
}

// WriteNpzFile writes an archive to a file, which is replaced as a whole or stays as it was.
func WriteNpzFile(path string, compress bool, entries ...NamedTensor) error {
	return writeFile(path, func(w io.Writer) error { return WriteNpz(w, compress, entries...) })
}
