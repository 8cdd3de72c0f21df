package tidemark.plans;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A call as a function of Spark's public interface for catalogs.
 *
 * @param name the name in the catalog
 * @param call the call
 */
record CatalogFunction(String name, MethodCall call) implements UnboundFunction {

    /** Returns the function for arguments of these types. Throws IllegalArgumentException if no method takes them. */
    @Override
    public BoundFunction bind(StructType arguments) {
        List<DataType> types = List.of(arguments.fields()).stream().map(StructField::dataType).toList();
        var bound = new Bound(this.name, this.call, types);
        bound.find();
        return bound;
    }

    @Override
    public String description() {
        return this.call.target().getClass().getSimpleName() + '.' + this.call.method();
    }

    /** The function for arguments of given types. Each task has its own copy, and so has the call's object. */
    static final class Bound implements ScalarFunction<Object> {
        private static final long serialVersionUID = 1L;

        private final String name;
        private final MethodCall call;
        private final List<DataType> types;
        private transient Method method;
        private transient Object[] values;

        Bound(String name, MethodCall call, List<DataType> types) {
            this.name = name;
            this.call = call;
            this.types = types;
        }

        @Override
        public String name() {
            return this.name;
        }

        @Override
        public DataType[] inputTypes() {
            return this.types.toArray(DataType[]::new);
        }

        @Override
        public DataType resultType() {
            return this.call.gives();
        }

        @Override
        public boolean isResultNullable() {
            return this.call.nullable();
        }

        @Override
        public boolean isDeterministic() {
            return this.call.movable();
        }

        @Override
        public Object produceResult(InternalRow arguments) {
            if (this.method == null) {
                find();
            }
            for (int index = 0; index < this.values.length; index++) {
                boolean isNull = arguments.isNullAt(index);
                if (isNull && this.call.nullIfNull()) {
                    return null;
                }
                this.values[index] = isNull ? null : arguments.get(index, this.types.get(index));
            }
            try {
                return this.method.invoke(this.call.target(), this.values);
            } catch (InvocationTargetException failed) {
                throw CatalogFunction.<RuntimeException>unchecked(failed.getCause());
            } catch (IllegalAccessException impossible) {
                throw new IllegalStateException(impossible);
            }
        }

        /** Finds the method that takes arguments of these types. */
        private void find() {
            for (Method each : this.call.target().getClass().getMethods()) {
                if (each.getName().equals(this.call.method()) && takes(each.getParameterTypes())) {
                    this.method = each;
                    this.values = new Object[this.types.size()];
                    return;
                }
            }
            throw new IllegalArgumentException(
                this.call.target().getClass() + " has no method " + this.call.method() + " of " + this.types);
        }

        private boolean takes(Class<?>[] parameters) {
            if (parameters.length != this.types.size()) {
                return false;
            }
            for (int index = 0; index < parameters.length; index++) {
                if (!parameters[index].equals(classOf(this.types.get(index)))) {
                    return false;
                }
            }
            return true;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Bound it && it.call.equals(this.call) && it.types.equals(this.types);
        }

        @Override
        public int hashCode() {
            return Objects.hash(this.call, this.types);
        }
    }

    /** Returns the class in which Spark gives values of a type; null for types that no method takes. */
    private static Class<?> classOf(DataType type) {
        if (type instanceof LongType) {
            return long.class;
        }
        if (type instanceof IntegerType) {
            return int.class;
        }
        if (type instanceof BooleanType) {
            return boolean.class;
        }
        if (type instanceof StringType) {
            return UTF8String.class;
        }
        if (type instanceof BinaryType) {
            return byte[].class;
        }
        if (type instanceof ArrayType) {
            return ArrayData.class;
        }
        return type instanceof StructType ? InternalRow.class : null;
    }

    /** Throws an exception of any kind as it is, as Spark's compiled code does. */
    @SuppressWarnings("unchecked") // the cast is left out when it is compiled, and that is its purpose
    private static <T extends Throwable> RuntimeException unchecked(Throwable thrown) throws T {
        throw (T) thrown;
    }
}
