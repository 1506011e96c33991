// refused: cannot find type 'Session' in scope
import Bindbus

func look(_ session: Session) {}
