import BindingProtocol
import Testing

@testable import BindingHub

@Suite("Numbers of topics")
struct TopicNumbersTests {
  private static let edges = [0, 1, 2, 65_534, 65_535, 65_536, TopicNumbers.count - 2, TopicNumbers.count - 1]

  @Test("without a seed topics are in order, from the first to the last")
  func inOrder() {
    let numbers = TopicNumbers(seed: nil)
    for number in TopicNumbersTests.edges {
      #expect(numbers.topic(of: number) == Topics.firstModel + Topic(number))
      #expect(numbers.number(of: numbers.topic(of: number)) == number)
    }
    #expect(numbers.topic(of: TopicNumbers.count - 1) == .max)
  }

  @Test("with a seed each number has a topic of its own, which leads back to it", arguments: [0, 1, .max, 0xABCD_EF01])
  func permutation(_ seed: UInt64) {
    let numbers = TopicNumbers(seed: seed)
    var seen: Set<Topic> = []
    for number in Array(0..<100_000) + TopicNumbersTests.edges.suffix(2) {
      let topic = numbers.topic(of: number)
      #expect(Topics.isModel(topic) && numbers.number(of: topic) == number)
      seen.insert(topic)
    }
    #expect(seen.count == 100_002)
  }

  @Test("what is no model's topic has no number", arguments: [nil, 5] as [UInt64?])
  func others(_ seed: UInt64?) {
    let numbers = TopicNumbers(seed: seed)
    for topic in [Topics.none, 1, Topics.heartbeat] { #expect(numbers.number(of: topic) == nil) }
  }

  @Test("with a seed a topic does not tell how many came before it")
  func scattered() {
    // Of a thousand topics in order the one with the greater number is the greater one; scattered, about half are. The
    // seeds are fixed, so the counts are.
    for seed in 0..<20 as Range<UInt64> {
      let topics = (0..<1_000).map { TopicNumbers(seed: seed).topic(of: $0) }
      let rising = zip(topics, topics.dropFirst()).count { $0 < $1 }
      #expect((430...570).contains(rising))
      // No two that follow each other are near each other, and no two seeds begin alike.
      #expect(zip(topics, topics.dropFirst()).allSatisfy { max($0, $1) - min($0, $1) > 16 })
      #expect(topics[0] != TopicNumbers(seed: seed + 1).topic(of: 0))
    }
  }

  @Test("a hub with a seed finds its models by their topics, also those that replace removed ones")
  func models() {
    var bench = HubBench { $0.topicSeed = 7 }
    bench.hello(.ann)
    var topics: Set<Topic> = []
    for number in 0..<50 {
      let request = UInt32(number + 1)
      let joined = bench.send(.ann, .join([Join(request: request, model: "shop/\(number % 40)")]))
      let topic = joined.messages(to: .ann).lazy.compactMap { message -> Topic? in
        if case .topic(let topic) = message { topic.topic } else { nil }
      }.first
      guard let topic else { return #expect(Bool(false), "no topic for model \(number)") }
      if number < 40 { #expect(topics.insert(topic).inserted) } else { #expect(topics.contains(topic)) }
      #expect(bench.machine.modelID(of: topic) == "shop/\(number % 40)")
    }
  }
}
