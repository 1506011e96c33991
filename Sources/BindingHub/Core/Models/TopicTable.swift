import BindingProtocol

/// Models' indices by topic. A topic is never reused, so the table frees the room of removed models page by page; a
/// lookup indexes twice.
struct TopicTable {
  private static let pageSize = 1_024
  /// A page holds each topic's model index plus one; 0: none. A page whose topics are all gone is empty.
  private var pages: [[UInt32]] = []
  private var live: [Int] = []
  private var count = 0

  /// Whether a topic is left.
  var hasRoom: Bool { count < Int(Topic.max - Topics.firstModel) }

  /// The index of a topic's model; nil: none.
  subscript(topic: Topic) -> Int? {
    guard topic >= Topics.firstModel else { return nil }
    let number = Int(topic - Topics.firstModel)
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
    return Topics.firstModel + Topic(count)
  }

  /// Releases the topic of a removed model.
  mutating func release(_ topic: Topic) {
    let number = Int(topic - Topics.firstModel)
    let (page, at) = (number / TopicTable.pageSize, number % TopicTable.pageSize)
    pages[page][at] = 0
    live[page] -= 1
    // The last page still grows.
    if live[page] == 0, page < pages.count - 1 { pages[page] = [] }
  }

  /// The topics after `topic` that have a model, in order.
  func topics(after topic: Topic) -> some Sequence<Topic> {
    let first = topic < Topics.firstModel ? 0 : Int(topic - Topics.firstModel) + 1
    return (first / TopicTable.pageSize..<max(first / TopicTable.pageSize, pages.count)).lazy.flatMap { page in
      let start = page * TopicTable.pageSize
      return pages[page].indices.lazy.filter { pages[page][$0] != 0 && start + $0 >= first }
        .map { Topics.firstModel + Topic(start + $0) }
    }
  }
}
