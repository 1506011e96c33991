import BindingPeer
import BindingTerminal
import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A command that runs beside this program: in its process group, so that Ctrl-C reaches both, with its standard output
/// and error, and with nothing to read.
///
/// SIGTERM and SIGHUP, which reach this program alone, are passed on to it before they end this program, with the exit
/// code that a shell gives such an end.
struct ChildCommand {
  private static let running = Running()

  /// - Parameter environment: all of its variables.
  /// - Throws: if it cannot be started.
  init(_ words: [String], environment: [String: String]) throws(Failure) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // What this program ignores or handles, the command does not.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in Running.signals + [SIGPIPE] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    let arguments = words.map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    let code = ChildCommand.running.start { number in
      posix_spawnp(&number, words[0], &actions, &attributes, arguments, variables)
    }
    switch code {
    case 0: return
    case ENOENT, EACCES:
      throw Failure(.missingTool, "\(excerpt(words[0])) cannot be run: \(StandardStreams.words(code)).")
    case E2BIG:
      throw Failure(.doesNotFit, "The values are too long for an environment. Use:  bindpeer watch --json")
    default: throw Failure(.ourBug, "\(excerpt(words[0])) cannot be started: \(StandardStreams.words(code)).")
    }
  }

  /// Waits for its end.
  /// - Returns: its exit code, or 128 and the number of the signal that ended it.
  func end() async -> Int32 {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: ChildCommand.running.wait()) }
    }
  }
}

/// The command that runs, if one does.
private final class Running: Sendable {
  /// Those that are passed on to it.
  static let signals = [SIGTERM, SIGHUP]
  private let id = Protected<pid_t?>(nil)
  private let sources = Protected<[any DispatchSourceSignal]>([])

  /// Starts it. It is known from the moment on at which it is there.
  /// - Returns: zero, or why it could not be started.
  func start(_ spawn: (inout pid_t) -> Int32) -> Int32 {
    passSignalsOn()
    return id.withLock { id in
      var number: pid_t = 0
      let code = spawn(&number)
      if code == 0 { id = number }
      return code
    }
  }

  func wait() -> Int32 {
    guard let number = id.withLock({ $0 }) else { return 0 }
    // Its number may be another's as soon as its end is taken.
    var info = siginfo_t()
    while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    return id.withLock { id in
      id = nil
      var status: Int32 = 0
      while waitpid(number, &status, 0) < 0, errno == EINTR {}
      let signal = status & 0x7F
      return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
  }

  private func passSignalsOn() {
    sources.withLock { sources in
      guard sources.isEmpty else { return }
      for number in Running.signals {
        // Who started this program with a signal ignored, as nohup does, wants that for the command too.
        let former = signal(number, SIG_IGN)
        guard former.map({ unsafeBitCast($0, to: Int.self) }) != unsafeBitCast(SIG_IGN, to: Int.self) else { continue }
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        source.setEventHandler { [self] in
          id.withLock { id in if let id { kill(id, number) } }
          StandardStreams.leave(128 + number)
        }
        source.resume()
        sources.append(source)
      }
    }
  }
}
