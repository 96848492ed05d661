package heal

import (
	"context"

	"healc/internal/replay"
	"healc/transcript"
)

// Transcript is an execution transcript that is ready to run: a program that another compiler recorded, operation by
// operation (docs/transcripts.md), which is fused and compiled like any other.
type Transcript struct{ in *replay.Transcript }

// TranscriptOptions say how a transcript is compiled.
type TranscriptOptions struct {
	Options
	NoFuse bool // compile every operation for itself, instead of the segments
}

// CompileTranscript checks a transcript and makes it ready to run; machine code is made by the first Run. The
// transcript has to stay open as long as the result is used. A mistake in it is a *transcript.Error.
func CompileTranscript(t *transcript.Transcript, opts TranscriptOptions) (*Transcript, error) {
	if opts.Sandbox != nil {
		return nil, errSandboxTranscript
	}
	given, err := opts.engine()
	if err != nil {
		return nil, err
	}
	in, err := replay.Compile(t, replay.Options{Options: given, NoFuse: opts.NoFuse})
	if err != nil {
		return nil, err
	}
	return &Transcript{in}, nil
}

// Run executes the transcript; Verify of the result compares it with what was recorded. An operation that fails,
// because a modulus is not positive or a position out of range, is a *transcript.Error around a *RuntimeError.
func (x *Transcript) Run(ctx context.Context) (*transcript.Result, error) { return x.in.Run(ctx) }

// Close frees the machine code.
func (x *Transcript) Close() { x.in.Close() }
