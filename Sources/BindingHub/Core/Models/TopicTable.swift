import BindingProtocol

/// Models' indices by topic. A topic is never reused, so the table frees the room of removed models page by page; a
/// lookup indexes twice.
struct TopicTable {
  private static let pageSize = 1_024
  private let numbers: TopicNumbers
  /// A page holds each number's model index plus one; 0: none. A page whose models are all gone is empty.
  private var pages: [[UInt32]] = []
  private var live: [Int] = []
  private var count = 0

  init(_ numbers: TopicNumbers) { self.numbers = numbers }

  /// Whether a topic is left.
  var hasRoom: Bool { count < TopicNumbers.count }

  /// The index of a topic's model; nil: none.
  subscript(topic: Topic) -> Int? {
    guard let number = numbers.number(of: topic) else { return nil }
    let (page, at) = (number / TopicTable.pageSize, number % TopicTable.pageSize)
    guard page < pages.count, at < pages[page].count else { return nil }
    let entry = pages[page][at]
    return entry == 0 ? nil : Int(entry) - 1
  }

  /// Assigns the next topic to the model at an index.
  mutating func assign(_ index: Int) -> Topic {
    if count % TopicTable.pageSize == 0 {
      if live.last == 0 { pages[pages.count - 1] = [] }
      pages.append([])
      pages[pages.count - 1].reserveCapacity(TopicTable.pageSize)
      live.append(0)
    }
    pages[pages.count - 1].append(UInt32(index) + 1)
    live[live.count - 1] += 1
    defer { count += 1 }
    return numbers.topic(of: count)
  }

  /// Releases the topic of a removed model.
  mutating func release(_ topic: Topic) {
    guard let number = numbers.number(of: topic) else { return }
    let (page, at) = (number / TopicTable.pageSize, number % TopicTable.pageSize)
    pages[page][at] = 0
    live[page] -= 1
    // The last page still grows.
    if live[page] == 0, page < pages.count - 1 { pages[page] = [] }
  }

  /// The topics assigned after `topic` that have a model, in the order of their assignment; all of them after one that
  /// is no model's.
  func topics(after topic: Topic) -> some Sequence<Topic> {
    let first = numbers.number(of: topic).map { $0 + 1 } ?? 0
    return (first / TopicTable.pageSize..<max(first / TopicTable.pageSize, pages.count)).lazy.flatMap { page in
      let start = page * TopicTable.pageSize
      return pages[page].indices.lazy.filter { pages[page][$0] != 0 && start + $0 >= first }
        .map { numbers.topic(of: start + $0) }
    }
  }
}
