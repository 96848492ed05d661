package llvm

import (
	"runtime"
)

const codegenHostIsNotX86 = runtime.GOARCH != "amd64"
