import ArgumentParser
import BindingHub
import BindingKeys
import BindingProtocol
import BindingTerminal
import Dispatch
import Foundation

/// Shows what a running hub does, as it does it.
struct Top: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a running hub's models, peers and rates, live.",
    discussion: """
      Fills the terminal: Tab changes between models and peers, the arrows choose the column to sort by and scroll, p \
      holds the picture, q ends. A hub names its first 1,000 models.

      Without a terminal it prints both tables once, with the rates of one interval, and ends.
      """)

  @OptionGroup var choice: HubChoice

  @Option(name: .long, help: "Time between two pictures, such as 500ms or 2s.")
  var every = TimeSpan(seconds: 1)

  func validate() throws {
    if every.milliseconds < 100 { throw ValidationError("--every must be 100ms or longer") }
  }

  func run() throws {
    let (addresses, member) = choice.places()
    let hub = SampledHub(
      addresses: addresses, member: member, silence: choice.noAnswer(at: addresses[0], to: "top", as: member))
    // Tells what is wrong before it takes the terminal.
    let first = hub.sample()
    if case .failure(let failure) = first { fail(failure.text, failure.code) }
    let events = Held<[Event]>([])
    let isThere = DispatchSemaphore(value: 0)
    let post: @Sendable (Event) -> Void = { event in
      events.withLock { $0.append(event) }
      isThere.signal()
    }
    var state = TopState()
    guard let screen = FullScreen(isColoured: isColoured, handler: { post(.screen($0)) }) else {
      return printOnce(hub, first)
    }
    defer { screen.close() }
    post(.sample(first))
    let pause = every.milliseconds
    Thread.detachNewThread {
      while true {
        usleep(UInt32(clamping: pause * 1_000))
        post(.sample(hub.sample()))
      }
    }
    while true {
      isThere.wait()
      switch events.withLock({ $0.removeFirst() }) {
      case .screen(.ended): return
      case .screen(.changed): break
      case .screen(.key(let key)):
        if state.take(key, rows: screen.size.rows - TopView.frame) { return }
      case .sample(.success(let sample)): state.take(sample)
      case .sample(.failure(let failure)): state.take(silence: String(failure.text.prefix { $0 != "\n" }))
      }
      screen.draw(TopView(state: state, size: screen.size).lines())
    }
  }

  private enum Event: Sendable {
    case screen(FullScreen.Event)
    case sample(Result<HubSample, SampledHub.Silence>)
  }

  private var isColoured: Bool { ProcessInfo.processInfo.environment["NO_COLOR", default: ""].isEmpty }

  private func printOnce(_ hub: SampledHub, _ first: Result<HubSample, SampledHub.Silence>) {
    var state = TopState()
    if case .success(let sample) = first { state.take(sample) }
    usleep(UInt32(clamping: every.milliseconds * 1_000))
    switch hub.sample() {
    case .success(let sample): state.take(sample)
    case .failure(let failure): fail(failure.text, failure.code)
    }
    for table in TopState.Table.allCases {
      if state.table != table { _ = state.take(.tab, rows: 0) }
      let count = state.rows.count
      let lines = TopView(state: state, size: .init(rows: count + TopView.frame, columns: 200)).lines().map(\.text)
      let start = table == .models ? 0 : 2
      for line in lines[start..<(count + 4)] { print(String(line.reversed().drop { $0 == " " }.reversed())) }
    }
  }
}

/// The hub that is asked again and again.
private struct SampledHub: Sendable {
  let addresses: [HubAddress]
  let member: KnownHub?
  /// What to say if it does not answer.
  let silence: String

  /// Why there is no sample.
  struct Silence: Error {
    let text: String
    let code: Int32
  }

  /// Asks it. Blocks the calling thread.
  func sample() -> Result<HubSample, Silence> {
    for address in addresses {
      switch HubStatus.answer(from: address, as: member, timeout: .milliseconds(2_000)) {
      case .report(let report):
        return .success(HubSample(report, at: Double(DispatchTime.now().uptimeNanoseconds) / 1e9))
      case .refused(let text):
        return .failure(Silence(text: HubChoice.refusal(text), code: 77))
      case .none: continue
      }
    }
    return .failure(Silence(text: silence, code: 69))
  }
}
