package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Note [Trust]
//
// Code that lies in the cache is executed, so who can write there can do what the user can. As ssh does with keys, a
// folder is used only when it belongs to the user or to root and nobody else may write it, and so is each file: then
// nobody else can have made it. Folders are made for the user alone. What is checked is the folder that was opened, and
// everything below is done through it, so a folder that is put in its place afterwards is not looked at; that is why
// folders above it need no check. What lists, verifies and removes entries opens any folder.

// folder is the cache's folder, opened.
type folder struct {
	*os.Root
	limit int64 // larger files are no entries
}

// Refused says why the folder is not used; nil where it is, or is not there. It is in words, with what to do about it.
func (c *Cache) Refused() error {
	d := c.openAny()
	if d == nil {
		return nil
	}
	defer d.Close()
	return d.refused(c.Dir)
}

// refused says why the folder is not used.
func (d *folder) refused(name string) error {
	info, err := d.Stat(".")
	if err != nil {
		return err
	}
	return refused(info, name)
}

// open opens the folder to load or store, or is nil where there is none that may be used; with create it is made.
func (c *Cache) open(create bool) *folder {
	if c == nil {
		return nil
	}
	if create && os.MkdirAll(c.Dir, 0o700) != nil {
		return nil
	}
	d := c.openAny()
	if d != nil && d.refused(c.Dir) != nil {
		d.Close()
		return nil
	}
	return d
}

// openAny opens the folder whoever owns it; nil where there is none.
func (c *Cache) openAny() *folder {
	if c == nil {
		return nil
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil
	}
	return &folder{root, c.limit() + headLen}
}

// load returns the content of an entry and when it was last used, nil where there is none. One that is damaged, or
// that stands in the place of another, is removed.
func (d *folder) load(key string, k *kind) ([]byte, time.Time) {
	path := pathOf(key, k)
	body, used, err := d.read(path, key, k)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.Remove(path)
		}
		return nil, used
	}
	return body, used
}

// read returns the content of the file of an entry, as unseal does, and when it was last used.
func (d *folder) read(path, key string, k *kind) (body []byte, used time.Time, err error) {
	f, err := d.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // to open a pipe does not wait
	if err != nil {
		return nil, used, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, used, err
	case !info.Mode().IsRegular():
		return nil, used, errors.New("it is no file")
	case info.Size() > d.limit:
		return nil, used, fmt.Errorf("it has %d bytes, more than the whole cache may have", info.Size())
	}
	if err := refused(info, "it"); err != nil {
		return nil, used, err
	}
	raw := make([]byte, info.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return nil, used, err
	}
	body, err = unseal(raw, key, k)
	return body, info.ModTime(), err
}

// write makes the file of an entry, which is there as a whole or not at all, and reports that it is there.
func (d *folder) write(key string, k *kind, body []byte) bool {
	path := pathOf(key, k)
	dir := filepath.Dir(path)
	if err := d.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false
	}
	temp := filepath.Join(dir, halfPrefix+strconv.FormatUint(rand.Uint64(), 36))
	f, err := d.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_, err = f.Write(seal(key, k, body))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = d.Rename(temp, path)
	}
	if err != nil {
		d.Remove(temp)
	}
	return err == nil
}

// halfPrefix starts the names of files that are being written.
const halfPrefix = "new-"

// half is the kind of such a file.
var half = &kind{}

// file is a file of the cache. One without a kind has a name that no entry has, and is one by what it begins with.
type file struct {
	path  string // below the folder
	key   string // that its name says
	kind  *kind
	bytes int64
	used  time.Time
}

// files lists the files of the cache. Other files in its folder are none of its business.
func (d *folder) files() []file {
	var out []file
	top, _ := fs.ReadDir(d.FS(), ".")
	for _, sub := range top {
		if !sub.IsDir() {
			out = d.file(out, "", sub)
			continue
		}
		if len(sub.Name()) != 2 || !isKey(sub.Name()+strings.Repeat("0", keyLen-2)) {
			continue
		}
		below, _ := fs.ReadDir(d.FS(), sub.Name())
		for _, f := range below {
			out = d.file(out, sub.Name(), f)
		}
	}
	return out
}

// file adds a file to the list if it is one of the cache.
func (d *folder) file(list []file, dir string, e fs.DirEntry) []file {
	info, err := e.Info()
	if err != nil || info.IsDir() {
		return list
	}
	f := file{path: filepath.Join(dir, e.Name()), bytes: info.Size(), used: info.ModTime()}
	base, ext := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
	if dir != "" && isKey(dir+base) {
		f.key = dir + base
		for _, k := range []*kind{programKind, nameKind} {
			if ext == k.ext {
				f.kind = k
			}
		}
	}
	if dir != "" && strings.HasPrefix(e.Name(), halfPrefix) {
		f.kind = half
	}
	if f.kind == nil && (!info.Mode().IsRegular() || !d.isEntry(f.path)) {
		return list
	}
	return append(list, f)
}

// isEntry reports whether a file begins as entries do.
func (d *folder) isEntry(path string) bool {
	f, err := d.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [magicLen]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && (string(magic[:]) == programKind.magic || string(magic[:]) == nameKind.magic)
}

// check says what is wrong with a file. One of another build is right where it is.
func (d *folder) check(f file) error {
	if f.kind == nil {
		return errors.New("an entry has another name")
	}
	body, _, err := d.read(f.path, f.key, f.kind)
	switch {
	case errors.Is(err, fs.ErrNotExist): // another process removed it
		return nil
	case err != nil && !errors.Is(err, errBuild):
		return err
	case f.kind == programKind:
		_, err = decodeProgram(body)
		return err
	case !isKey(string(body)):
		return errors.New("it names no program")
	}
	return nil
}
