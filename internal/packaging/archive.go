package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file of a package, below /usr or what stands for it.
type file struct {
	name string
	mode int64
	data []byte
}

// archive writes the archive of a target: zip for Windows, tar for the others. All that is in it lies in a folder of
// its name.
func (r *release) archive(t target, program string, common []file) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	files := append(slices.Clone(common), file{"bin/" + filepath.Base(program), 0o755, binary})
	if t.os == "windows" {
		files = slices.DeleteFunc(files, func(f file) bool {
			return strings.HasPrefix(f.name, "share/") && !strings.HasPrefix(f.name, "share/doc/")
		})
	}
	name := "healc-" + r.version + "-" + t.String()
	var out bytes.Buffer
	if t.os == "windows" {
		if err := writeZip(&out, name, files, r.time); err != nil {
			return err
		}
		return r.write(name+".zip", out.Bytes())
	}
	if err := writeTar(&out, name, files, r.time); err != nil {
		return err
	}
	return r.write(name+".tar.gz", out.Bytes())
}

// sorted are files in the order of their names, which are all different.
func sorted(files []file) ([]file, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(files); i++ {
		if files[i].name == files[i-1].name {
			return nil, fmt.Errorf("two files are %s", files[i].name)
		}
	}
	return files, nil
}

// folders are the folders of sorted files below root, each before what is in it.
func folders(root string, files []file) []string {
	all := []string{root}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			all = append(all, root+"/"+dir)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// writeTar writes an archive that nothing but its files decides: they are sorted, of one time, and of root.
func writeTar(w io.Writer, root string, files []file, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	header := func(name string, kind byte, mode, size int64) error {
		return tw.WriteHeader(&tar.Header{Name: name, Typeflag: kind, Mode: mode, Size: size, ModTime: at,
			Uname: "root", Gname: "root", Format: tar.FormatUSTAR})
	}
	for _, dir := range folders(root, files) {
		if err := header(dir+"/", tar.TypeDir, 0o755, 0); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := header(root+"/"+f.name, tar.TypeReg, f.mode, int64(len(f.data))); err != nil {
			return err
		}
		if _, err := tw.Write(f.data); err != nil {
			return err
		}
	}
	if err := tw.Close(); err != nil {
		return err
	}
	return zw.Close()
}

// writeZip is writeTar for zip. Without a root the files lie in no folder.
func writeZip(w io.Writer, root string, files []file, at time.Time) error {
	files, err := sorted(files)
	if err != nil {
		return err
	}
	zw := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: path.Join(root, f.name), Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(os.FileMode(f.mode))
		fw, err := zw.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := fw.Write(f.data); err != nil {
			return err
		}
	}
	return zw.Close()
}

// sumsFile has the checksum of every other file of a release.
const sumsFile = "SHA256SUMS"

// sums writes the checksums of the files of a folder, as sha256sum does.
func sums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, e := range entries { // which are sorted
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(out.String()), 0o644)
}
