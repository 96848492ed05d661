// Package cache keeps compiled programs on disk. In: artifacts of codegen under keys, which are hashes of everything
// that the code depends on. Out: the same artifacts, or nothing. A cache that cannot be read or written is an empty
// one, and never an error: what is not there is compiled.
package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"healc/codegen"
	"healc/runtime/abi"
)

// Cache keeps compiled programs on disk, so that a process that runs a known program never opens libLLVM. Entries are
// written whole or not at all, are checked when they are read, and those that were not used for the longest time go
// when the cache is larger than Limit; it is looked at after some of the stores only, so that a store does not take
// longer the more there is. Several processes may share one.
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

const magic = "heal0002"

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

func (c *Cache) path(key string) string { return filepath.Join(c.Dir, key[:2], key[2:]+".heal") }

// Load returns the program stored under key, or nil. A damaged entry is removed.
func (c *Cache) Load(key string) *codegen.Artifact {
	if c == nil {
		return nil
	}
	raw, err := os.ReadFile(c.path(key))
	if err != nil {
		return nil
	}
	art, err := decodeEntry(raw)
	if err != nil {
		os.Remove(c.path(key))
		return nil
	}
	// What is used stays. Knowing that to the hour is enough, and mostly writes nothing.
	if st, err := os.Stat(c.path(key)); err == nil && time.Since(st.ModTime()) > time.Hour {
		now := time.Now()
		_ = os.Chtimes(c.path(key), now, now) // a cache that cannot be written can be read
	}
	return art
}

// decodeEntry reads magic, checksum of the rest, and as the rest plan, PTX and objects, each behind its length.
func decodeEntry(raw []byte) (*codegen.Artifact, error) {
	const head = len(magic) + sha256.Size
	if len(raw) < head || string(raw[:len(magic)]) != magic {
		return nil, fmt.Errorf("not a cache entry")
	}
	body := raw[head:]
	if sum := sha256.Sum256(body); string(sum[:]) != string(raw[len(magic):head]) {
		return nil, fmt.Errorf("wrong checksum")
	}
	var parts [][]byte
	for len(body) > 0 {
		if len(body) < 8 || binary.LittleEndian.Uint64(body) > uint64(len(body)-8) {
			return nil, fmt.Errorf("truncated")
		}
		n := 8 + binary.LittleEndian.Uint64(body)
		parts, body = append(parts, body[8:n]), body[n:]
	}
	if len(parts) < 2 {
		return nil, fmt.Errorf("truncated")
	}
	art := &codegen.Artifact{Plan: &abi.Program{}, Objects: parts[2:]}
	if len(parts[1]) > 0 {
		art.PTX = parts[1]
	}
	return art, json.Unmarshal(parts[0], art.Plan)
}

// Store keeps a program. Failing to is no error: the program was compiled and runs.
func (c *Cache) Store(key string, art *codegen.Artifact) {
	if c == nil {
		return
	}
	plan, err := json.Marshal(art.Plan)
	if err != nil {
		return
	}
	var body []byte
	for _, part := range append([][]byte{plan, art.PTX}, art.Objects...) {
		body = append(binary.LittleEndian.AppendUint64(body, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(body)
	raw := append(append([]byte(magic), sum[:]...), body...)
	if !c.write(c.path(key), raw) {
		return
	}
	limit := c.limit()
	if int64(len(raw)) > limit/64 || key[len(key)-1] == '0' {
		c.trim(limit)
	}
}

// write makes a file that is there as a whole or not at all, and reports that it is there.
func (c *Cache) write(path string, raw []byte) bool {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return false
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return false
	}
	_, err = tmp.Write(raw)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err == nil
}

// nameExt ends the file that gives a stored program another key.
const nameExt = ".name"

// Same returns the program that has this other key, or nil.
func (c *Cache) Same(key string) *codegen.Artifact {
	if c == nil || key == "" {
		return nil
	}
	program, err := os.ReadFile(c.namePath(key))
	if _, bad := hex.DecodeString(string(program)); err != nil || bad != nil || len(program) != len(key) {
		return nil
	}
	return c.Load(string(program))
}

// Name gives the program stored under key another one. "" is no key.
func (c *Cache) Name(other, key string) {
	if c == nil || other == "" || key == "" {
		return
	}
	if _, err := os.Stat(c.path(key)); err == nil {
		c.write(c.namePath(other), []byte(key))
	}
}

func (c *Cache) namePath(key string) string {
	return strings.TrimSuffix(c.path(key), ".heal") + nameExt
}

// forget removes the names of programs that are not there any more.
func (c *Cache) forget() {
	names, _ := filepath.Glob(filepath.Join(c.Dir, "??", "*"+nameExt))
	for _, path := range names {
		program, err := os.ReadFile(path)
		if err == nil && len(program) == 2*sha256.Size {
			_, err = os.Stat(c.path(string(program)))
		} else {
			err = os.ErrNotExist
		}
		if err != nil {
			os.Remove(path)
		}
	}
}

// Clear removes all programs, and returns how many there were.
func (c *Cache) Clear() (int, error) {
	entries := c.Entries()
	defer c.forget()
	for _, e := range entries {
		if err := os.Remove(e.Path); err != nil && !os.IsNotExist(err) {
			return 0, err
		}
	}
	return len(entries), nil
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

// Entries lists the cache, oldest first.
func (c *Cache) Entries() []Entry {
	var out []Entry
	if c == nil {
		return nil
	}
	dirs, _ := os.ReadDir(c.Dir)
	for _, d := range dirs {
		files, _ := os.ReadDir(filepath.Join(c.Dir, d.Name()))
		for _, f := range files {
			if info, err := f.Info(); err == nil && filepath.Ext(f.Name()) == ".heal" {
				out = append(out, Entry{filepath.Join(c.Dir, d.Name(), f.Name()), info.Size(),
					info.ModTime().UnixNano()})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Used < out[j].Used })
	return out
}

// trim removes the oldest entries until the cache is within its limit, and what processes left that were killed
// while they wrote.
func (c *Cache) trim(limit int64) {
	half, _ := filepath.Glob(filepath.Join(c.Dir, "??", "new-*"))
	for _, path := range half {
		if st, err := os.Stat(path); err == nil && time.Since(st.ModTime()) > time.Hour {
			os.Remove(path)
		}
	}
	all := c.Entries()
	defer c.forget()
	sum := int64(0)
	for _, e := range all {
		sum += e.Bytes
	}
	for _, e := range all {
		if sum <= limit {
			return
		}
		if os.Remove(e.Path) == nil {
			sum -= e.Bytes
		}
	}
}

// Verify checks that the file of an entry is whole; the error says what is wrong with it.
func Verify(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	_, err = decodeEntry(raw)
	return err
}
