#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The mode of the terminal: keys one by one and unseen, on a screen beside the usual one. Signals that end or stop the
/// program give the terminal back first.
enum TerminalMode {
  // SAFETY: it is written before `isTaken` is set, and read only while that is. Handlers of signals, which may not
  // lock, read it too.
  nonisolated(unsafe) private static var before = termios()
  // SAFETY: of the type that handlers of signals may read and write.
  nonisolated(unsafe) private static var isTaken: sig_atomic_t = 0
  /// How often it was taken: what was drawn in an earlier turn is gone.
  // SAFETY: as of `isTaken`; it is compared with an earlier value only.
  nonisolated(unsafe) private(set) static var turn: sig_atomic_t = 0

  /// The other screen, keys of the cursor as usual, pasted text marked as such; and all that undone.
  private static let entering = Array("\u{1B}[?1049h\u{1B}[?2004h\u{1B}[H\u{1B}[2J".utf8)
  private static let leaving = Array("\u{1B}[0m\u{1B}[?2004l\u{1B}[?25h\u{1B}[?1049l".utf8)

  private static let deadly = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE]

  /// Returns false if standard input is no terminal, or it is taken already.
  static func take() -> Bool {
    guard isTaken == 0, tcgetattr(STDIN_FILENO, &before) == 0 else { return false }
    // What is lazy is made now, not in a signal handler.
    _ = (entering.count, leaving.count)
    guard enter() else { return false }
    for number in deadly { signal(number) { TerminalMode.end(by: $0) } }
    signal(SIGTSTP) { _ in TerminalMode.pause() }
    atexit { TerminalMode.giveBack() }
    return true
  }

  private static func enter() -> Bool {
    var raw = before
    cfmakeraw(&raw)
    // Reading waits for at least one byte.
    guard tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 else { return false }
    isTaken = 1
    turn += 1
    return StandardStreams.write(entering, to: STDOUT_FILENO) == nil
  }

  /// Takes it again after the program was stopped.
  static func retake() {
    if isTaken == 0 { _ = enter() }
  }

  /// Gives it back, if it is taken. Called by signal handlers too.
  static func giveBack() {
    guard isTaken == 1 else { return }
    isTaken = 0
    leaving.withUnsafeBytes { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    _ = tcsetattr(STDIN_FILENO, TCSANOW, &before)
  }

  private static func end(by number: Int32) {
    giveBack()
    signal(number, SIG_DFL)
    raise(number)
  }

  private static func pause() {
    giveBack()
    raise(SIGSTOP)
  }
}
