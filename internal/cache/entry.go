package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"healc/codegen"
	"healc/internal/identity"
	"healc/runtime/abi"
)

// A file of the cache is the magic of its kind, the key it was stored under, the build of healc that stored it, a
// checksum of all of that and of the content, and the content. The key is compared with the one that is asked for: the
// name of a file says nothing about what is in it.

// kind is what a file of the cache is.
type kind struct {
	magic string
	ext   string
}

var (
	programKind = &kind{"heal0003", ".heal"} // a compiled program: its plan, PTX and objects
	nameKind    = &kind{"name0003", ".name"} // another key of a program: the key of the program
)

const (
	magicLen = 8
	keyLen   = 2 * sha256.Size
	headLen  = magicLen + keyLen + keyLen + sha256.Size
)

// build stands for identity.Build, which is long.
var build = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(identity.Build()))
	return hex.EncodeToString(sum[:])
})

// isKey reports whether s is what Key returns.
func isKey(s string) bool {
	if len(s) != keyLen {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// pathOf is the place of an entry below the folder.
func pathOf(key string, k *kind) string { return filepath.Join(key[:2], key[2:]+k.ext) }

// errBuild is an entry that is whole, and of another build of healc.
var errBuild = errors.New("it is of another build of healc")

// seal makes the file of an entry.
func seal(key string, k *kind, body []byte) []byte {
	raw := append(make([]byte, 0, headLen+len(body)), k.magic+key+build()...)
	sum := checksum(raw, body)
	return append(append(raw, sum[:]...), body...)
}

// checksum is that of an entry whose file starts with head, and then has the checksum and body.
func checksum(head, body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(head)
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// unseal returns the content of the file of an entry that has to be of this kind and stored under this key, by this
// build. The error is errBuild where everything else is right.
func unseal(raw []byte, key string, k *kind) ([]byte, error) {
	if len(raw) < headLen || string(raw[:magicLen]) != k.magic {
		return nil, errors.New("it is no entry of this version of healc")
	}
	head, sum, body := raw[:headLen-sha256.Size], raw[headLen-sha256.Size:headLen], raw[headLen:]
	if want := checksum(head, body); string(want[:]) != string(sum) {
		return nil, errors.New("its checksum is wrong")
	}
	if stored := string(head[magicLen : magicLen+keyLen]); stored != key {
		return nil, fmt.Errorf("it is the entry of another key, %s", filepath.ToSlash(pathOf(stored, k)))
	}
	if string(head[magicLen+keyLen:]) != build() {
		return body, errBuild
	}
	return body, nil
}

// encodeProgram writes plan, PTX and objects, each behind its length.
func encodeProgram(art *codegen.Artifact) ([]byte, error) {
	plan, err := json.Marshal(art.Plan)
	if err != nil {
		return nil, err
	}
	var body []byte
	for _, part := range append([][]byte{plan, art.PTX}, art.Objects...) {
		body = append(binary.LittleEndian.AppendUint64(body, uint64(len(part))), part...)
	}
	return body, nil
}

func decodeProgram(body []byte) (*codegen.Artifact, error) {
	var parts [][]byte
	for len(body) > 0 {
		if len(body) < 8 || binary.LittleEndian.Uint64(body) > uint64(len(body)-8) {
			return nil, errors.New("it is cut")
		}
		n := 8 + binary.LittleEndian.Uint64(body)
		parts, body = append(parts, body[8:n]), body[n:]
	}
	if len(parts) < 2 {
		return nil, errors.New("it is cut")
	}
	art := &codegen.Artifact{Plan: &abi.Program{}, Objects: parts[2:]}
	if len(parts[1]) > 0 {
		art.PTX = parts[1]
	}
	return art, json.Unmarshal(parts[0], art.Plan)
}
