module healc/internal/site

go 1.26.0

require (
	github.com/yuin/goldmark v1.8.7
	healc v0.0.0
)

require (
	github.com/alecthomas/participle/v2 v2.1.4 // indirect
	github.com/ebitengine/purego v0.11.3 // indirect
	github.com/elastic/go-seccomp-bpf v1.6.0 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/llir/llvm v0.3.6 // indirect
	github.com/mewmew/float v0.0.0-20201204173432-505706aa38fa // indirect
	github.com/pkg/errors v0.9.1 // indirect
	golang.org/x/mod v0.36.0 // indirect
	golang.org/x/net v0.54.0 // indirect
	golang.org/x/sync v0.20.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/tools v0.45.0 // indirect
)

replace healc => ../..
