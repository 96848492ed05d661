
; ---- The processor: there is one level.
@heal.best = internal global i32 0
@heal.level = internal global i32 0

define internal void @heal.pause() alwaysinline {
  ret void
}

define internal void @heal.detect() {
  ret void
}
