-- A remote task stays with the conversation it came from: an agent that answers another one with it is not believed.
--
-- Where a chat moved, its turns moved with it. A turn that is gone from here (retention) claims nothing.
CREATE TRIGGER remote_task_of_another BEFORE UPDATE OF turn ON remote_task
WHEN NEW.turn <> OLD.turn
    AND (SELECT conversation FROM turn WHERE n = NEW.turn) <> (SELECT conversation FROM turn WHERE n = OLD.turn)
BEGIN
    SELECT RAISE(ABORT, 'another conversation has the task');
END;
