// Package cache keeps compiled programs on disk. In: artifacts of codegen under keys, which are hashes of everything
// that the code depends on. Out: the same artifacts, or nothing. A cache that cannot be read or written is an empty
// one, and never an error: what is not there is compiled.
package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"sort"
	"time"

	"healc/codegen"
)

// Cache keeps compiled programs on disk, so that a process that runs a known program never opens libLLVM. Entries are
// written whole or not at all, and say themselves what they are (entry.go), so that one that was copied over another,
// renamed, cut or damaged is not there. Those that were not used for the longest time go when the cache is larger than
// Limit; it is looked at after some of the stores only, so that a store does not take longer the more there is. Several
// processes may share one. A folder that others own or may write is not used (folder.go): what lies there is executed.
//
// A program is kept by its kernels, so that a change of the text that leaves them and their lines as they are compiles
// nothing. The text of the program it was made of is another key for it: who has the same text need not make the
// kernels to find their code.
type Cache struct {
	Dir   string
	Limit int64 // bytes; 0 is 256 MiB
}

// Default is HEAL_CACHE, or the folder heal in the user's cache folder. HEAL_CACHE=off is no cache;
// it is nil then, and when there is no such folder.
func Default() *Cache {
	dir := os.Getenv("HEAL_CACHE")
	if dir == "off" {
		return nil
	}
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(base, "heal")
	}
	return &Cache{Dir: dir}
}

// Key hashes texts, which are everything that some code depends on.
func Key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Load returns the program stored under key, or nil. A damaged entry is removed.
func (c *Cache) Load(key string) *codegen.Artifact {
	d := c.open(false)
	if d == nil {
		return nil
	}
	defer d.Close()
	body, used := d.load(key, programKind)
	if body == nil {
		return nil
	}
	art, err := decodeProgram(body)
	if err != nil {
		return nil
	}
	// What is used stays. Knowing that to the hour is enough, and mostly writes nothing.
	if time.Since(used) > time.Hour {
		now := time.Now()
		_ = d.Chtimes(pathOf(key, programKind), now, now) // a cache that cannot be written can be read
	}
	return art
}

// Store keeps a program. Failing to is no error: the program was compiled and runs.
func (c *Cache) Store(key string, art *codegen.Artifact) {
	d := c.open(true)
	if d == nil {
		return
	}
	defer d.Close()
	body, err := encodeProgram(art)
	if err != nil || int64(len(body)) > c.limit() {
		return
	}
	if !d.write(key, programKind, body) {
		return
	}
	limit := c.limit()
	if int64(len(body)) > limit/64 || key[len(key)-1] == '0' {
		d.trim(limit)
	}
}

// Same returns the program that has this other key, or nil.
func (c *Cache) Same(key string) *codegen.Artifact {
	if key == "" {
		return nil
	}
	d := c.open(false)
	if d == nil {
		return nil
	}
	program, _ := d.load(key, nameKind)
	d.Close()
	if !isKey(string(program)) {
		return nil
	}
	return c.Load(string(program))
}

// Name gives the program stored under key another one. "" is no key.
func (c *Cache) Name(other, key string) {
	if other == "" || key == "" {
		return
	}
	d := c.open(true)
	if d == nil {
		return
	}
	defer d.Close()
	if _, err := d.Stat(pathOf(key, programKind)); err == nil {
		d.write(other, nameKind, []byte(key))
	}
}

// Clear removes all programs, and returns how many there were.
func (c *Cache) Clear() (int, error) {
	d := c.openAny()
	if d == nil {
		return 0, nil
	}
	defer d.Close()
	n := 0
	for _, f := range d.files() {
		if f.kind == half {
			continue // another process may be writing it
		}
		if err := d.Remove(f.path); err != nil && !os.IsNotExist(err) {
			return n, err
		}
		if f.kind != nameKind {
			n++
		}
	}
	return n, nil
}

func (c *Cache) limit() int64 {
	if c.Limit == 0 {
		return 256 << 20
	}
	return c.Limit
}

// Entry is one program in the cache.
type Entry struct {
	Path  string
	Bytes int64
	Used  int64 // nanoseconds since 1970
}

// Entries lists the programs, those first that were not used for the longest time.
func (c *Cache) Entries() []Entry {
	d := c.openAny()
	if d == nil {
		return nil
	}
	defer d.Close()
	var out []Entry
	for _, f := range d.programs() {
		out = append(out, Entry{filepath.Join(c.Dir, f.path), f.bytes, f.used.UnixNano()})
	}
	return out
}

// programs lists the programs, those first that were not used for the longest time.
func (d *folder) programs() []file {
	var out []file
	for _, f := range d.files() {
		if f.kind == programKind {
			out = append(out, f)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].used.Before(out[j].used) })
	return out
}

// trim removes the oldest entries until the cache is within its limit, what processes left that were killed while they
// wrote, and the names of programs that are not there any more.
func (d *folder) trim(limit int64) {
	all := d.programs()
	sum := int64(0)
	for _, e := range all {
		sum += e.bytes
	}
	for _, e := range all {
		if sum <= limit {
			break
		}
		if d.Remove(e.path) == nil {
			sum -= e.bytes
		}
	}
	for _, f := range d.files() {
		switch f.kind {
		case half:
			if time.Since(f.used) > time.Hour {
				d.Remove(f.path)
			}
		case nameKind:
			program, _, err := d.read(f.path, f.key, nameKind)
			if err == nil && isKey(string(program)) {
				_, err = d.Stat(pathOf(string(program), programKind))
			}
			if err != nil {
				d.Remove(f.path)
			}
		}
	}
}

// Damaged is a file of the cache that is not what it should be, and why.
type Damaged struct {
	Path string // below the folder
	Err  error
}

// Verify reads every program and every name of one, and removes those that are damaged, or stand where another belongs.
// checked counts the programs.
func (c *Cache) Verify() (checked int, damaged []Damaged, err error) {
	d := c.openAny()
	if d == nil {
		return 0, nil, nil
	}
	defer d.Close()
	for _, f := range d.files() {
		if f.kind == half {
			continue
		}
		if f.kind != nameKind {
			checked++
		}
		bad := d.check(f)
		if bad == nil {
			continue
		}
		damaged = append(damaged, Damaged{f.path, bad})
		if rerr := d.Remove(f.path); rerr != nil && !os.IsNotExist(rerr) {
			err = rerr
		}
	}
	return checked, damaged, err
}
