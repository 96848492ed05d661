package driver

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"healc/codegen/llvm/aot"
)

// Head is the line that a file of this kind begins with, so that healc knows it again; "" where what is written begins
// with one anyway, or has a note in it (aot.Note).
func (k Kind) Head(source string) string {
	if k.comment[0] == "" {
		return ""
	}
	return k.comment[0] + " " + aot.Mark + ": " + k.Doc + ", of " + source + k.comment[1] + "\n"
}

// marks are what files begin with that healc has written.
func marks() []string {
	out := []string{"/* " + aot.Mark, `"""` + aot.Mark, aot.GoMark}
	for _, k := range Kinds() {
		if k.comment[0] != "" {
			out = append(out, k.comment[0]+" "+aot.Mark)
		}
	}
	return out
}

// Foreign reports that a file is there that healc has not written, and which it therefore does not overwrite: it begins
// with none of healc's marks. What is empty, and what is no file but a device or a pipe, has nothing to lose.
func Foreign(path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	head = head[:n]
	marked := slices.ContainsFunc(marks(), func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
	return !marked && !aot.Ours(f), nil
}
