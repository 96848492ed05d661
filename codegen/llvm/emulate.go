package llvm

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Note [Emulated vectors]
//
// A processor NAME/OTHER means: the code that suits NAME, of OTHER's instructions. What the generator chooses — how
// long vectors are, which are masked, how many registers a tile has, which form a transform takes — is as for NAME, and
// LLVM splits what OTHER has no registers for. So any machine with AVX2 runs what is generated for AVX-512, as
// x86-64-v4/x86-64-v3, and tests compare it with the interpreter. The code is slow, and for nothing but tests. Tests do
// not see LLVM's own part so: the instructions that it selects for NAME.
//
// The instructions that the generator names itself have their meaning as LLVM IR in split.ll, after the manual of
// Intel's processors; TestSplit compares it with Go's own arithmetic.

//go:embed split.ll
var splitText string

var (
	splitDefinition = regexp.MustCompile(
		`(?ms)^define internal <(\d+) x [^@\n]*@(heal\.x86\.avx512\.[a-z0-9.]+)\(.*?^}\n`)
	splitConstant = regexp.MustCompile(`splat \(([^)]*)\)`) // versions of LLVM before 19 do not know it
	splitDeclared = regexp.MustCompile(`(?m)^declare [^@\n]*@(heal\.x86\.avx512\.[a-z0-9.]+)\(.*\n`)
)

// withMeanings puts the meanings of the instructions that text declares in place of these declarations.
func withMeanings(text string) (string, error) {
	meanings := map[string]string{}
	for _, m := range splitDefinition.FindAllStringSubmatch(splitText, -1) {
		lanes, err := strconv.Atoi(m[1])
		if err != nil {
			return "", err
		}
		meanings[m[2]] = splitConstant.ReplaceAllStringFunc(m[0], func(c string) string {
			one := splitConstant.FindStringSubmatch(c)[1]
			return "<" + strings.Repeat(one+", ", lanes-1) + one + ">"
		})
	}
	var missing error
	text = splitDeclared.ReplaceAllStringFunc(text, func(declared string) string {
		name := splitDeclared.FindStringSubmatch(declared)[1]
		if meanings[name] == "" {
			missing = fmt.Errorf("split.ll has no %s", name)
		}
		return meanings[name]
	})
	return text, missing
}
