import BindingProtocol

/// The places of models by their topics. A topic is never given twice, so those of models that are gone give their room
/// back, page by page; to look one up is to index twice.
struct TopicTable {
  private static let pageSize = 1_024
  /// A page has the place of each of its topics and one more, 0: none. A page of topics that are all gone is empty.
  private var pages: [[UInt32]] = []
  private var live: [Int] = []
  private var count = 0

  /// Whether there is a topic left.
  var hasRoom: Bool { count < Int(Topic.max - Topics.firstModel) }

  /// The place of a topic's model; nil: it has none.
  subscript(topic: Topic) -> Int? {
    guard topic >= Topics.firstModel else { return nil }
    let number = Int(topic - Topics.firstModel)
    let (page, at) = (number / TopicTable.pageSize, number % TopicTable.pageSize)
    guard page < pages.count, at < pages[page].count else { return nil }
    let entry = pages[page][at]
    return entry == 0 ? nil : Int(entry) - 1
  }

  /// The next topic, for the model at a place.
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

  /// The topic's model is gone.
  mutating func release(_ topic: Topic) {
    let number = Int(topic - Topics.firstModel)
    let (page, at) = (number / TopicTable.pageSize, number % TopicTable.pageSize)
    pages[page][at] = 0
    live[page] -= 1
    // The last one still grows.
    if live[page] == 0, page < pages.count - 1 { pages[page] = [] }
  }

  /// The topics after one that have a model, in their order.
  func topics(after topic: Topic) -> some Sequence<Topic> {
    let first = topic < Topics.firstModel ? 0 : Int(topic - Topics.firstModel) + 1
    return (first / TopicTable.pageSize..<max(first / TopicTable.pageSize, pages.count)).lazy.flatMap { page in
      let start = page * TopicTable.pageSize
      return pages[page].indices.lazy.filter { pages[page][$0] != 0 && start + $0 >= first }
        .map { Topics.firstModel + Topic(start + $0) }
    }
  }
}
