package tidemark.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ListedObjectTest {
    @Test
    @DisplayName("a path gives the size, the tag with its dashes, and the whole key")
    void parsed() throws IOException {
        Path path = new Path("landed://bucket/1234-6162632d32/day=1/a b-c.json"); // the tag is abc-2 in hexadecimal
        assertEquals(new ListedObject(1234, "abc-2", "day=1/a b-c.json"), ListedObject.parse(path));
    }

    @Test
    @DisplayName("a path without a key is no file, and one that no listing gave is an error")
    void malformed() {
        assertThrows(FileNotFoundException.class, () -> ListedObject.parse(new Path("landed://bucket/12-61")));
        for (String listed : new String[] {"12", "x-61", "12-xx"}) {
            Path path = new Path("landed://bucket/" + listed + "/key");
            assertThrows(IllegalArgumentException.class, () -> ListedObject.parse(path), listed);
        }
    }
}
